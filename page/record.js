// record.js: recording anew from a served page: some steps of programs of the run that can be asked, and what profiler
// servers of TensorFlow and JAX record, as their capture dialog asks for it.  tfprof-capture does both
// (ext/serve/recorder.h); what it says, also of what went wrong, stands beside the recordButtons.
import { element } from './state.js';
import { askServer, chosenRun, lookNow } from './served.js';

const RECORDED_STEPS = 5,
  RECORD_LOOK_MS = 10000;
const captureFields = [
  ['addresses', 'text', 'Profiler servers', '', { placeholder: 'host:6009,host2:6009', size: 40, required: true }],
  ['duration_ms', 'number', 'Duration, ms', '2000', { min: 1, max: 86400000 }],
  [
    'host_level',
    'number',
    'Host tracer level',
    '2',
    {
      min: 0,
      max: 3,
      title: '0: nothing; 1: what the program marks; 2: and what the framework does; 3: and what is cheap',
    },
  ],
  ['device_level', 'number', 'Device tracer level', '1', { min: 0, max: 1, title: '1: what devices do; 0: nothing' }],
  [
    'python_level',
    'number',
    'Python tracer level',
    '0',
    { min: 0, max: 1, title: '1: each call of a function; 0: nothing' },
  ],
  [
    'retries',
    'number',
    'Retries',
    '3',
    { min: 0, max: 100, title: 'how often it is asked once more where nothing happened' },
  ],
];
let recordHolder = null,
  recordSaid = null,
  recordButtons = [],
  recordLooked = -Infinity,
  isRecording = false;

const sayRecorded = (text, isError = false) => {
  recordSaid.textContent = text;
  recordSaid.className = isError ? 'note error' : 'note';
};

// What is of use on a page: how to look at it is no news here.
const shortenSaid = (text) => text.split('\ntfprof: look at it with')[0].split('tfprof: look at it with')[0].trim();

async function recordNow(parameters, what) {
  isRecording = true;
  for (const button of recordButtons) button.disabled = true;
  sayRecorded(`recording ${what} …`);
  try {
    const { status, said: text } = await (
      await askServer('record', { run: chosenRun(), ...parameters }, { body: '' })
    ).json();
    sayRecorded(shortenSaid(text) || 'recorded', status !== 0);
    if (status === 0 || status === 1) lookNow();
  } catch (error) {
    sayRecorded(error.message, true);
  } finally {
    isRecording = false;
    for (const button of recordButtons) button.disabled = false;
  }
}

function makeCaptureDialog() {
  const inputs = captureFields.map(([name, type, label, value, more]) => {
    const input = element('input', { name, type, value, ...more });
    return [input, element('label', {}, `${label} `, input)];
  });
  const dialog = element(
    'dialog',
    { id: 'capture' },
    element('h2', {}, 'Record by profiler servers'),
    element(
      'p',
      {},
      'Programs that have called tf.profiler.experimental.server.start(6009) or jax.profiler.start_server(6009). ' +
        'What they record becomes part of this run.',
    ),
    ...inputs.map(([, label]) => label),
    element(
      'div.buttons',
      {},
      element(
        'button.begin',
        {
          onclick: () => {
            if (!inputs.every(([input]) => input.reportValidity())) return;
            dialog.close();
            const values = Object.fromEntries(
              inputs.map(([input]) => [input.name, input.value.replace(/\s/g, '').replace(/grpc:\/\//g, '')]),
            );
            recordNow(values, `by ${values.addresses}`);
          },
        },
        'Capture',
      ),
      element('button', { onclick: () => dialog.close() }, 'Cancel'),
    ),
  );
  return dialog;
}

function makeRecordHolder() {
  const dialog = makeCaptureDialog();
  recordSaid = element('span', { role: 'status' });
  const steps = element(
    'button',
    {
      id: 'record-steps',
      hidden: true,
      onclick: () => recordNow({ count: RECORDED_STEPS }, `${RECORDED_STEPS} steps`),
    },
    `record ${RECORDED_STEPS} steps now`,
  );
  recordButtons = [
    steps,
    element('button', { id: 'record-servers', hidden: true, onclick: () => dialog.showModal() }, 'capture …'),
  ];
  recordHolder = element('div', { id: 'record' }, ...recordButtons, recordSaid, dialog);
  document.querySelector('header').append(recordHolder);
}

// Whether there is somebody to ask, which the server looks at, seldom.
export async function lookForRecordable() {
  const now = performance.now();
  if (isRecording || now - recordLooked < RECORD_LOOK_MS || chosenRun() === 'all') return;
  recordLooked = now;
  if (!recordHolder) makeRecordHolder();
  try {
    const { count, error } = await (await askServer('recordable', { run: chosenRun() })).json();
    recordButtons[0].hidden = !count;
    recordButtons[0].title = count === 1 ? 'of the program that runs' : `of ${count} processes at the same moment`;
    recordButtons[1].hidden = Boolean(error);
  } catch {
    for (const button of recordButtons) button.hidden = true;
  }
}

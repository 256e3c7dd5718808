"""window_recordings.py: dumps that name files of the framework's own profiler, as the recorder writes them of JAX and
TensorFlow (profiler_windows)."""

from mutations import dumps
from xplane_files import written

MS = 1_000_000
HANDLE = 140271776664448
LINE = 12963272136030226969  # by which C++ knows the thread of that handle: as JAX 0.10 on libstdc++ wrote it
BOOT, EPOCH = 50_000 * MS, 1_700_000_000_000 * MS  # the same moment on both clocks
IDS = dumps.table_ids()


class Recording:
    """A dump of steps of 10 ms on one thread, one after the other, and its windows."""

    def __init__(self, steps=20, interval=0, framework="jax"):
        self.framework = framework
        self.texts, self.frames, self.first_rows = [], [], {}
        self.add("threads", [{"kind": "host", "recorded_name": "trainer", "tid": 4711}])
        if interval:
            self.add("counters", [{"name": "capture_ops_interval", "time_ns": BOOT - 1, "value": interval}])
        self.steps(0, steps)

    def steps(self, first, end):
        self.add("steps", [{"number": i, "origin": "keras", "thread_id": 0, "start_ns": BOOT + 10 * MS * i,
                            "dur_ns": 10 * MS - 100_000} for i in range(first, end)])

    def text(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1

    def add(self, table, values):
        number, columns = IDS[table]
        blocks, known = {}, len(self.texts)
        for name in dict.fromkeys(name for row in values for name in row):
            cells = [row.get(name) for row in values]
            if columns[name][1] in ("TEXT", "JSON"):
                cells = [None if cell is None else self.text(cell) for cell in cells]
            blocks[columns[name][0]] = dumps.integers(cells)
        if len(self.texts) > known:
            self.frames.append(dumps.frame_of_texts(known + 1, [text.encode() for text in self.texts[known:]]))
        first = self.first_rows.get(table, 0)
        self.first_rows[table] = first + len(values)
        self.frames.append(dumps.frame_of_rows(number, first, len(values), blocks))

    def window(self, name, first_step, count, **more):
        """Opened 50 us before its first step, after 40 us of opening."""
        start = BOOT + 10 * MS * first_step - 50_000
        row = {"file": name, "framework": self.framework.split(",")[0], "thread_id": 0, "start_ns": start,
               "dur_ns": 10 * MS * count,
               "opening_ns": 40_000, "first_step": first_step, "step_count": count, "bytes": 1,
               "start_realtime_ns": EPOCH + start - BOOT, "thread_handle": HANDLE, "ending": "steps"}
        self.add("profiler_windows", [dict(row, **more)])

    def write(self, directory, is_closed=True):
        clock = dumps.Frame(dumps.CLOCK, head=dumps.varint(dumps.zigzag(BOOT)) + dumps.varint(dumps.zigzag(EPOCH))
                            + dumps.varint(0) + dumps.varint(0))
        dump = dumps.Dump(pid=4711)
        dump.frames[0].head = b"\x3a\x09monotonic\x40\xe7\x24" + b"\x22" + dumps.varint(len(self.framework))
        dump.frames[0].head += self.framework.encode()
        data = dump.add(clock, *self.frames).write()
        return written(directory, data if is_closed else data[:-80], "vm-4711.tfprof")


def began(first_step):
    """When the session of a window began, by the wall clock."""
    return EPOCH + 10 * MS * first_step - 50_000 - 15_000


def beside(directory, number, data):
    return written(directory, data, f"vm-4711.{number}.xplane.pb")

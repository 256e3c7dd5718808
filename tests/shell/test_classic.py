"""The classic tfprof in the shell: generations, outputs, advise, wrong uses, and its
prompt through a pseudo-terminal."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from exchange_formats import Pprof, check_events, message
from terminal import Terminal, program, run_tests

TFPROF = program("tfprof")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILES = os.path.join(ROOT, "tests", "golden", "tensorflow")
CORPUS = os.path.join(ROOT, "tests", "fuzz", "corpus", "tensorflow")
PROFILE = "--profile_path=" + os.path.join(CORPUS, "profile")
GRAPH = ["--graph_path=" + os.path.join(FILES, "graph.pb"), "--op_log_path=" + os.path.join(FILES, "op_log"),
         "--run_meta_path=" + os.path.join(FILES, "run_meta_0") + "," + os.path.join(FILES, "run_meta_1")]
CONVOLUTION = ["--graph_path=" + os.path.join(CORPUS, "graph.pb"),
               "--run_meta_path=" + os.path.join(CORPUS, "run_meta")]
PROMPT = r"tfprof> $"


def tfprof(*words, text=None):
    done = subprocess.run([TFPROF, *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", stdin=None if text is not None else subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


# What older generations say before all else: see test_documents_of_1_3.
READING = re.compile(r"Reading Files\.\.\.\n(Parsing \w+\.\.\.\n)*Preparing Views\.\.\.\n")


def works(*words, text=None):
    status, out, error = tfprof(*words, text=text)
    assert (status, error) == (0, ""), (words, status, error)
    return READING.sub("", out, count=1)


def shell(*words):
    state = tempfile.mkdtemp(prefix="tfprof-test-")
    return Terminal([TFPROF, *words], columns=100, environment={"XDG_STATE_HOME": state})


# ---- generations ----

# What an empty line shows in the documents of these releases, as options and defaults.
DOCUMENTED = {
    "0.12": r"""max_depth 4|min_bytes 0|min_micros 0|min_params 0|min_float_ops 0|device_regexes .*|order_by name|
account_type_regexes Variable,VariableV2|start_name_regexes .*|trim_name_regexes|show_name_regexes .*|
hide_name_regexes IsVariableInitialized_[0-9]+,save\/.*,^zeros[0-9_]*|account_displayed_op_only false|select params|
viz false|dump_to_file""",
    "1.3": r"""max_depth 4|min_bytes 0|min_micros 0|min_params 0|min_float_ops 0|min_occurrence 0|step -1|order_by name|
account_type_regexes Variable,VariableV2|start_name_regexes .*|trim_name_regexes|show_name_regexes .*|
hide_name_regexes IsVariableInitialized_[0-9]+,save\/.*,^zeros[0-9_]*|account_displayed_op_only false|select params|
output""",
    "2": r"""max_depth 10|min_bytes 0|min_peak_bytes 0|min_residual_bytes 0|min_output_bytes 0|min_micros 0|
min_accelerator_micros 0|min_cpu_micros 0|min_params 0|min_float_ops 0|min_occurrence 0|step -1|order_by name|
account_type_regexes .*|start_name_regexes .*|trim_name_regexes|show_name_regexes .*|hide_name_regexes|
account_displayed_op_only false|select micros|output stdout:""",
}


def shown_options(text):
    return [re.sub(r" +", " ", line[1:]).strip() for line in text.split("\n") if line.startswith("-")]


def test_options_of_generations():
    for generation, documented in DOCUMENTED.items():
        wanted = documented.replace("\n", "").split("|")
        ours = shown_options(works("--generation", generation, PROFILE, "set"))
        if generation != "2":
            assert ours.pop() == "generation " + generation
        if generation == "1.3":
            wanted[-1] = "output stdout:" if ours[-1] == "output stdout:" else "output"
        assert ours == wanted, (generation, ours, wanted)
        # The same at the prompt, and back again.
        there_and_back = works(PROFILE, text=f"set -generation {generation}\nset -generation 2\n")
        assert shown_options(there_and_back)[-21:] == DOCUMENTED["2"].replace("\n", "").split("|"), there_and_back


def test_set_options_outlast_generations():
    """What was set stays, equal to a default or not; what was not follows the generation."""
    commands = "set -max_depth 4 -order_by name\nset -min_peak_bytes 7\nset -generation 1.3\n"
    shown = shown_options(works(PROFILE, text=commands))[-18:]
    assert (shown[0] == "max_depth 4" and "select params" in shown
            and shown[-2:] == ["min_peak_bytes 7", "generation 1.3"]), shown
    back = shown_options(works(PROFILE,
                               text=commands + "set -max_depth 10\nset -generation 0.12\nset -generation 2\n"))[-21:]
    wanted = DOCUMENTED["2"].replace("min_peak_bytes 0", "min_peak_bytes 7").replace("\n", "").split("|")
    assert back == wanted, back
    back = shown_options(works("--max_depth=4", PROFILE, text="set -generation 1.3\nset -generation 2\n"))[-21:]
    assert back == ["max_depth 4", *DOCUMENTED["2"].replace("\n", "").split("|")[1:]], back
    # A selection of what the generation does not know gives way, for good.
    back = shown_options(works(PROFILE, text="set -select peak_bytes\nset -generation 0.12\nset -generation 2\n"))[-21:]
    assert back[-2:] == ["select micros", "output stdout:"], back


def test_lines_of_generations():
    """0.12 and 1.3: no legend, one pair of times, only what is accounted, thresholds on own
    values, no shape of a scalar."""
    for generation, scalar in (("0.12", "0/0 params"), ("1.3", "1/1 params")):
        common = ["--generation", generation, "scope", *GRAPH]
        out = works(*common, "--account_type_regexes=_trainable_variables", "-max_depth", "9")
        lines = out.rstrip("\n").split("\n")
        assert lines[0].startswith("_TFProfRoot (--/") and lines[0].endswith(" params)"), out
        assert len(lines) > 2 and all(re.fullmatch(r" +\S+ \((\d+(x\d+)*, )?\S+/\S+ params\)", line)
                                      for line in lines[1:]), out
        out = works(*common, "--account_type_regexes=.*", "-select", "micros", "-min_micros", "2", "--max_depth=20")
        lines = out.rstrip("\n").split("\n")
        assert lines[0].startswith("_TFProfRoot (0us/"), out
        assert all(re.fullmatch(r" *\S+ \([\d.]+(us|ms|sec)/[\d.]+(us|ms|sec)\)", line) for line in lines), out
        own = [re.search(r"\(([\d.]+)(us|ms|sec)/", line).groups() for line in lines[1:]]
        assert own and all(unit != "us" or float(value) >= 2 for value, unit in own), out
        # The order of options does not matter to --generation.
        assert works("-select", "params", "--generation=" + generation, "scope", *GRAPH) == works(*common)
        scalars = [line for line in works(*common, "--account_type_regexes=.*", "-max_depth", "9").split("\n")
                   if re.search(r" \(" + scalar + r"\)", line)]
        assert scalars or generation == "1.3", "no scalar"


def test_op_view_of_1_3():
    """Its documents show every op, a legend and three times, as generation 2 does."""
    words = ["op", *GRAPH, "-select", "micros,bytes,occurrence", "-order_by", "micros", "-max_depth", "9"]
    old = works("--generation", "1.3", *words)
    now = works(*words)
    assert old == now[now.index("node name | requested bytes"):now.index("\n\n====================")] + "\n", old
    variables = works("--generation", "1.3", *words, "-account_type_regexes", "VarHandleOp")
    assert variables.startswith("node name | ") and len(variables.split("\n")) == 3, variables


def test_documents_of_1_3():
    """Its advice: what is said of the job, and four checkers, each with its heading, in this order."""
    sections = [line for line in works("--generation", "1.3", PROFILE, "advise").split("\n")
                if line.endswith("Checker:") or line.startswith("Not running")]
    assert sections == ["Not running under a job scheduler. Skip JobChecker.", "AcceleratorUtilizationChecker:",
                        "OperationChecker:", "JobChecker:", "ExpensiveOperationChecker:"], sections
    chosen = works("--generation", "1.3", PROFILE, "advise -checkers OperationChecker")
    assert "OperationChecker:" in chosen and "ExpensiveOperationChecker:" not in chosen, chosen
    path = os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "stacks.gz")
    works("--generation", "1.3", PROFILE,
          "code -select accelerator_micros -max_depth 1000 -output pprof:outfile=" + path)
    assert os.path.getsize(path) > 100
    hidden = works("--generation", "1.3", "graph", *GRAPH, "-select", "num_hidden_ops,params", "-account_type_regexes",
                   ".*", "-show_name_regexes", "conv/kernel", "-max_depth", "99")
    assert re.search(r"\n  \.\.\.hidden \d+\.\.\.\n    conv/kernel ", hidden), hidden
    # Which files are read is said first, once, and only of those that there are; a result for programs has none of it.
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    old = ["--generation", "1.3", GRAPH[0], "scope", "--max_depth=3"]
    said = "Reading Files...\nParsing GraphDef...\nPreparing Views...\n"
    assert tfprof(*old, "--output=file:outfile=" + os.path.join(directory, "dump")) == (0, said, "")
    with open(os.path.join(directory, "dump"), encoding="utf-8") as file:
        assert file.read() == works(*old)
    assert tfprof(*old, *GRAPH[1:])[1].startswith("Reading Files...\nParsing GraphDef...\nParsing RunMetadata...\n"
                                                  "Parsing OpLog...\nPreparing Views...\n_TFProfRoot")
    twice = tfprof("--generation", "0.12", PROFILE, text="scope\nscope\n")[1]
    assert twice.startswith("Reading Files...\nPreparing Views...\n_") and twice.count("Files...") == 1, twice
    assert tfprof("--generation", "1.3", "--csv", PROFILE, "SELECT 1")[1] == "1\n1\n"
    with shell("--generation", "1.3", GRAPH[0]) as t:
        assert t.expect(PROMPT).replace("\r", "").strip().startswith(said), "what is read"
    with shell("--generation", "1.3") as t:
        assert "tfprof --graph_path <GraphDef file>" in t.expect(r"told of it\.")
    # From the command line as at the prompt.
    for topic in ("scope", "op", "advise"):
        assert works("help", topic) == works("help " + topic) != works("help"), topic


def test_words_of_old_generations():
    explained = works("--generation", "0.12", "help")
    assert all("\n-%s " % option.split()[0] in explained for option in DOCUMENTED["0.12"].replace("\n", "").split("|"))
    assert "-min_peak_bytes" not in explained and "\n-max_depth" not in works("help")
    for view in ("scope", "graph"):
        out = works("--generation", "0.12", view, *GRAPH, "-viz")
        assert out.startswith("Visualizing feature disabled...\n_TFProfRoot"), out
    # What is ordered stands at one depth.
    for generation in DOCUMENTED:
        for view in ("scope", "graph", "code", "op"):
            by = [works("--generation", generation, view, *GRAPH, "-select", "params", "-order_by", order)
                  for order in ("depth", "name")]
            assert by[0].replace("-order_by                   depth", "-order_by                   name") == by[1], by
    by = [works(*GRAPH, f"SELECT name FROM op_view WHERE order_by = '{order}'")
          for order in ("depth", "name", "params")]
    assert by[0] == by[1] != by[2], by


def test_only_in_old_generations():
    # Where the graph view hides ops on the way to one that it shows, a line says how many, and the op stands deeper.
    out = works("--generation", "0.12", "graph", *GRAPH, "-select", "num_hidden_ops,params", "-account_type_regexes",
                "VarHandleOp", "-max_depth", "99")
    assert re.fullmatch(r"_TFProfRoot \(--/\S+ params\)\n(  \.\.\.hidden \d+\.\.\.\n    \S+ \(\S+, \S+ params\)\n)+",
                        out), out
    name, hidden = re.search(r"hidden (\d+)\.\.\.\n +(\S+)", out).group(2, 1)
    whole = works("--generation", "0.12", "graph", *GRAPH, "-account_type_regexes", ".*", "-hide_name_regexes", "",
                  "-max_depth", "99")
    assert re.search(r"(?m)^ {%d}%s \(" % (2 * int(hidden) + 2, re.escape(name)), whole), (name, hidden, whole)
    scope = works("--generation", "0.12", "scope", *GRAPH, "-select", "num_hidden_ops,params", "-account_type_regexes",
                  "VarHandleOp")
    assert "hidden" not in scope, scope
    # With nothing selected names alone; -viz never drew in what was released, and said so.
    names = works("--generation", "0.12", "scope", *GRAPH, "-select", "", "-account_type_regexes", ".*")
    assert re.fullmatch(r"_TFProfRoot\n( +\S+\n)+", names), names
    assert works("--generation", "0.12", "graph", *GRAPH,
                 "-viz").startswith("Visualizing feature disabled...\n_TFProfRoot")
    on_cpu = works("--generation", "0.12", "scope", *GRAPH, "--account_type_regexes=.*", "--device_regexes", ".*cpu:0",
                   "-select", "device", "-max_depth", "20")
    lines = on_cpu.rstrip("\n").split("\n")[1:]
    assert lines and all("cpu:0" in line for line in lines), on_cpu
    assert works("--generation", "0.12", "graph", *GRAPH, "-device_regexes", ".*gpu.*").count("\n") == 1
    for words, wrong in ((["--device_regexes=.*"], "no option --device_regexes in generation 2"),
                         (["--generation", "1.3", "-min_peak_bytes", "1"],
                          "no option --min_peak_bytes in generation 1.3"),
                         (["-select", "num_hidden_ops"], "-select cannot be 'num_hidden_ops'"),
                         (["--generation", "2.0"], "-generation cannot be '2.0'; it is 2, 1.3 or 0.12")):
        status, out, error = tfprof(*words, *GRAPH, "scope")
        assert status == 2 and wrong in error, (words, status, out, error)


# ---- several profiles ----


def test_several_profiles():
    """Each has a report under its name; one that lacks the step, or stacks, does not keep the others from answering."""
    links, ranked = (os.path.join(ROOT, "tests", "fixtures", "kineto", name + ".json")
                     for name in ("links", "distributed"))
    out = works(links, "SELECT tfprof_open('%s')" % ranked, "scope -max_depth 1")
    first, second = out.index("\n" + links + ":\n\nDoc:"), out.index("\n" + ranked + ", rank 3:\n\nDoc:")
    assert 0 < first < second and out.count("_TFProfRoot") == 2, out
    status, out, error = tfprof(links, "SELECT tfprof_open('%s')" % ranked, "scope -max_depth 1 -step 2")
    assert status == 0 and error == "1 of 2 profiles are left out: there is no step 2; the steps are 3\n", error
    assert out.count("_TFProfRoot") == 1 and "--/90us" in out and ".json:" not in out, out
    rows = "SELECT DISTINCT profile_id FROM %s WHERE step = %d"
    for view in ("scope_view", "op_view"):
        assert works("--format", "csv", links, "SELECT tfprof_open('%s') AS opened" % ranked,
                     rows % (view, 2)).split()[-1] == "2"
    status, out, error = tfprof(links, "SELECT tfprof_open('%s')" % ranked, rows % ("scope_view", 7))
    assert status == 1 and "there is no step 7; the steps are 3" in error, error
    status, out, error = tfprof(links, "SELECT tfprof_open('%s')" % ranked, "scope -step 7")
    assert status == 1 and "there is no step 7; the steps are 3" in error, error


# ---- types of one's own ----


def test_types_by_patterns():
    """node_type_patterns gives types to nodes as an OpLog does; the pattern is one expression for the whole name."""
    count = ("SELECT count(*), group_concat(name) FROM %s WHERE account_type_regexes = 'mine' AND max_depth = 99 "
             "AND is_accounted")
    names = ("SELECT count(*), group_concat(name) FROM nodes WHERE is_scope = 0 "
             "AND regexp_full_match('conv/.{1,9}|dense.*', name)")
    define = "INSERT INTO node_type_patterns VALUES ('conv/.{1,9}|dense.*', 'mine')"
    csv = ["--format", "csv", *GRAPH]
    nodes = works(*csv, names)
    assert int(nodes.split("\n")[1].split(",")[0]) > 3, nodes
    assert works(*csv, count % "scope_view").split("\n")[1].startswith("0,")
    assert works(*csv, define, count % "scope_view") == nodes
    for rows in ("op_view", "graph_view", "code_view"):
        assert not works(*csv, define, count % rows).split("\n")[1].startswith("0,"), rows
    text = works(*GRAPH, define, "scope -account_type_regexes mine -select op_types -max_depth 99")
    assert re.search(r"(?m)^ +dense/weight \(.*VarHandleOp\|.*mine\)$", text), text
    # Both are there of a pattern that comes later; what is taken away, or rolled back, is gone from the next view on.
    more = "INSERT INTO node_type_patterns VALUES ('.*', 'all')"
    both = works(*GRAPH, define, "scope -max_depth 99", more,
                 "scope -account_type_regexes all -select op_types -max_depth 99")
    assert "|all|mine" in both.replace("_trainable_variables|", "") or "|all" in both and "|mine" in both, both
    gone = works(*csv, define, count % "scope_view", "DELETE FROM node_type_patterns", count % "scope_view")
    assert gone.split("\n")[3].startswith("0,"), gone
    gone = works(*csv, "BEGIN", define, count % "scope_view", "ROLLBACK", count % "scope_view")
    assert gone.split("\n")[3].startswith("0,"), gone
    for wrong, reason in (("('(', 'x')", "not a regular expression: '('"), ("('x', '')", "CHECK constraint failed"),
                          ("('x', NULL)", "NOT NULL constraint failed")):
        status, _, error = tfprof(*GRAPH, "INSERT INTO node_type_patterns VALUES " + wrong)
        assert status == 1 and reason in error, error


# ---- outputs ----


def test_one_shot_to_a_file():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    path = os.path.join(directory, "out.txt")
    assert works("scope", *GRAPH, "--max_depth=3", "--dump_to_file=" + path) == ""
    with open(path) as file:
        text = file.read()
    assert text.endswith(works("scope", *GRAPH, "--max_depth=3").split("Report======================\n")[1]
                         .split("\n======================End")[0])
    assert works("scope", *GRAPH, "-output", "none") == ""
    status, _, error = tfprof("scope", *GRAPH, "--dump_to_file=" + os.path.join(directory, "no", "file"))
    assert status == 1 and "cannot be written" in error and "No such file" in error, error


def test_timeline():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    for view in ("graph", "scope", "code"):
        path = os.path.join(directory, view)
        out = works(view, *GRAPH, "-max_depth", "1000", "-output", f"timeline:outfile={path}")
        steps = ["0", "1"] if view == "graph" else ["-1"]
        for step in steps:
            assert f"Timeline written to {path}_{step};" in out, out
            with open(f"{path}_{step}") as file:
                trace = json.load(file)
            check_events(trace)
            assert any(event["ph"] == "X" for event in trace["traceEvents"]), view
    assert sorted(os.listdir(directory)) == ["code_-1", "graph_0", "graph_1", "scope_-1"]
    # The memory in use as displayed nodes read it at their ends: without the convolution the
    # reading at its end is not there.
    counted = {}
    for hidden in ("", ".*conv"):
        works("graph", *CONVOLUTION, "-step", "0", "-max_depth", "9", "-hide_name_regexes", f"'{hidden}'", "-output",
              f"timeline:outfile={directory}/memory")
        with open(os.path.join(directory, "memory_0")) as file:
            events = json.load(file)["traceEvents"]
        counted[hidden] = [event["args"]["Allocator Bytes in Use"] for event in events
                           if event["name"] == "Allocated Bytes"]
    assert counted == {"": [0, 23676], ".*conv": [0]}, counted
    status, _, error = tfprof("op", *GRAPH, "-output", f"timeline:outfile={path}")
    assert status == 1 and "scope, graph and code" in error, error
    status, _, error = tfprof("graph", *GRAPH, "-step", "7", "-output", f"timeline:outfile={path}")
    assert status == 1 and "there is no step 7; the steps are 0 1" in error, error


def test_pprof():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    path = os.path.join(directory, "stacks.gz")
    out = works("code", *GRAPH, "-max_depth", "1000", "-select", "micros", "-output", f"pprof:outfile={path}")
    assert f"Profile written to {path};" in out, out
    profile = Pprof(path)
    assert profile.types == [("count", "count"), ("micros", "microseconds")] and profile.preferred == "micros"
    names = [labels["graph node:"] for _, _, labels in profile.samples]
    assert len(names) == len(set(names)) > 0
    rows = works(*GRAPH, "--format", "csv", "SELECT total_micros FROM code_view WHERE max_depth = 1000 LIMIT 1")
    assert profile.total("micros") == int(rows.split()[1]), rows
    if shutil.which("go"):
        shown = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=1", path], check=True,
                               capture_output=True, text=True, env={**os.environ, "HOME": directory})
        assert "Type: micros" in shown.stdout, shown.stdout


def made_of_lines(directory, lines):
    """Options that open a graph of Add nodes, made where `lines` says: name: [(file, line,
    function), outermost first]."""
    texts = sorted({part for trace in lines.values() for frame in trace for part in frame[::2]})
    log = b""
    for name, trace in lines.items():
        frames = [message((2, line), (6, 1 + texts.index(file)), (7, 1 + texts.index(function)))
                  for file, line, function in trace]
        log += message((1, message((1, name), (4, b"".join(message((1, frame)) for frame in frames)))))
    for number, text in enumerate(texts):
        log += message((2, message((1, number + 1), (2, text))))
    graph, op_log = os.path.join(directory, "graph.pbtxt"), os.path.join(directory, "op_log")
    with open(graph, "w") as file:
        file.write("".join(f'node {{ name: "{name}" op: "Add" }}\n' for name in lines))
    with open(op_log, "wb") as file:
        file.write(log)
    return ["--graph_path=" + graph, "--op_log_path=" + op_log]


def test_pprof_of_same_names():
    """Functions of one name that one line calls, in two files; and a line that has a node and
    calls another, which is hidden."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    outer, path = ("dir/main.py", 3, "<module>"), os.path.join(directory, "stacks.gz")
    opened = made_of_lines(directory, {"a": [outer, ("one.py", 7, "wrapper")], "b": [outer, ("two.py", 9, "wrapper")],
                                       "c": [("other.py", 1, "<module>")],
                                       "d": [("other.py", 1, "<module>"), ("deep.py", 2, "hidden")]})
    for words, functions, nodes in (([], {("one:wrapper", "one.py"), ("two:wrapper", "two.py")}, "abcd"),
                                    (["-compat"], {("one:wrapper", "one.py")}, "abd")):
        works("code", *opened, "-select", "params", "-hide_name_regexes", "deep.*", *words, "-output",
              f"pprof:outfile={path}")
        profile = Pprof(path)
        assert {(name, file) for name, file, _ in profile.functions} == functions, profile.functions
        assert sorted(labels["graph node:"] for _, _, labels in profile.samples) == list(nodes), profile.samples


def test_nodes_of_lines_by_name():
    """Gradients too, which come to their lines by the names of their forward nodes."""
    line = [("main.py", 3, "<module>")]
    names = ["mul", "mul_1", "gradients/mul_grad/Mul", "gradients/mul_1_grad/Mul"]
    opened = made_of_lines(tempfile.mkdtemp(prefix="tfprof-test-"), {name: line for name in names})
    out = works(*opened, "--format", "json", "SELECT name, graph_nodes FROM code_view")
    rows = {row["name"]: json.loads(row["graph_nodes"] or "[]") for row in json.loads(out)}
    assert [node["name"] for node in rows["main.py:3:<module>"]] == ["mul", "mul_1"], rows
    gradients = ["gradients/mul_1_grad/Mul", "gradients/mul_grad/Mul"]
    assert [node["name"] for node in rows["main.py:3:<module> (gradient)"]] == gradients, rows


# ---- where TensorFlow's profiler does not do what is documented ----


def run_meta_text(*runs):
    """A RunMetadata: (device, node, start, micros)."""
    return "step_stats { " + "".join('dev_stats { device: "%s" node_stats { node_name: "%s" all_start_micros: %d '
                                     'op_end_rel_micros: %d } } ' % run for run in runs) + "}\n"


def test_documented_or_compat():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    gpu, stream = "/job:w/device:GPU:0", "/device:GPU:0/stream:all"
    files = {"graph.pbtxt": 'node { name: "split" op: "Split" attr { key: "_output_shapes" value { list { '
                            "shape { dim { size: 2 } } shape { dim { size: 5 } } } } } }\n"
                            'node { name: "net/BatchNorm" op: "FusedBatchNormV3" input: "split:1" }\n',
             "first": run_meta_text((gpu, "split", 1000, 10), (gpu, "net/BatchNorm", 1010, 90),
                                    (stream, "net/BatchNorm", 1100, 300)),
             "second": run_meta_text((gpu, "split", 5000, 10), (stream, "split", 5010, 990))}
    for name, text in files.items():
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    opened = ["--graph_path=" + os.path.join(directory, "graph.pbtxt"),
              "--run_meta_path=" + ",".join(os.path.join(directory, name) for name in ("first", "second"))]
    checker = "advise -checkers %sChecker"
    for command, documented, compat in (
            ("scope -select input_shapes", "net/BatchNorm (0:5)", "net/BatchNorm (0:2)"),
            # The node's 390 us, one row below the 505 of split: two expressions match both.
            ("op -select micros -account_type_regexes FusedBatchNormV3,.*gpu.*", " 390us (100.00%, 43.58%)",
             " 780us (100.00%, 60.70%)"),
            (checker % "ExpensiveOperation",
             "top 2 graph node: net/BatchNorm, cpu: 90us, accelerator: 300us, total: 390us",
             "top 2 graph node: net, cpu: 0us, accelerator: 0us, total: 0us"),
            (checker % "AcceleratorUtilization", "gpu:0 utilization: 0.99", "gpu:0 low utilization: 0.26"),
            (checker % "Operation", "OperationChecker:\n", "OperationChecker:\nMaybe use faster FusedBatchNorm")):
        one, other = tfprof(*opened, command)[1], tfprof(*opened, "--compat", command)[1]
        assert documented in one and compat in other and compat not in one, (command, one, other)
        at_the_prompt = tfprof(*opened, text="set -compat true\n" + command + "\n")[1]
        shown = at_the_prompt.partition("-compat                     true\n")[2]
        assert shown == other, (command, at_the_prompt, other)


def test_accelerators_without_streams():
    """What TensorFlow prints above a report, in a file too, with --compat; without it is a row of diagnostics."""
    lines = ("\n\nFound accelerator operation but misses accelerator stream stats!\n\n"
             "It's likely a gpu tracing issue rather than tf-profiler issue.\nIf you found your operation missing "
             "accelerator time, consider to post to discuss@tensorflow.org!\n\n")
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run, report = os.path.join(directory, "run"), os.path.join(directory, "report")
    gpu, stream = "/job:w/replica:0/task:0/device:GPU:0", "/device:GPU:0/stream:all"
    for devices in ([gpu], [gpu, stream]):
        with open(run, "w") as file:
            file.write(run_meta_text(*((device, "a", 1000, 10) for device in devices)))
        opened, is_missing = "--run_meta_path=" + run, len(devices) == 1
        rows = works("--format", "csv", opened, "SELECT severity, table_name FROM diagnostics "
                     "WHERE reason = 'missing_streams'")
        assert rows == "severity,table_name\n" + "warning,kernels\n" * is_missing, rows
        for view in ("scope", "graph", "op"):
            for words, expected in (((), ""), (("--compat",), lines if is_missing else "")):
                out = works(*words, opened, view)
                above = out[out.index("Report======================\n"):out.index("\nDoc:\n")].split("\n", 1)[1]
                assert above == expected, (view, words, out)
                works(*words, opened, view + " -output file:outfile=" + report)
                with open(report) as file:
                    text = file.read()
                assert text[:text.index("\nDoc:\n")] == expected, (view, words, text)


def test_received_tensors():
    """JobChecker says what TensorFlow's profiler only announces; with --compat nothing, no heading either."""
    run = os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "run")
    with open(run, "w") as file:
        file.write('step_stats { dev_stats { device: "/job:w/replica:0/task:0/device:CPU:0" node_stats { '
                   'node_name: "RecvTensor" all_start_micros: 1000 op_end_rel_micros: 1500 timeline_label: '
                   '"[1.00MB 5.6Gb/s] edge_3_w from /job:ps/replica:0/task:0/device:CPU:0 to '
                   '/job:w/replica:0/task:0/device:CPU:0" } } }\n')
    opened = "--run_meta_path=" + run
    for words in ("JobChecker", "job", "job_check"):
        out = works(opened, "advise -checkers " + words)
        assert out.startswith("\nJobChecker:\nRecvTensor: 1 times, latency 1.50 ms on average"), out
        assert works("--compat", opened, "advise -checkers " + words) == ""
    assert "JobChecker" not in works("--compat", opened, "advise")


def test_memory_read_twice_at_once():
    """Of several readings of one moment that of the last displayed node counts, as in TensorFlow's profiler."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run_meta, path = os.path.join(directory, "run_meta"), os.path.join(directory, "timeline")
    node = ('node_stats { node_name: "%s" all_start_micros: %d op_end_rel_micros: %d memory { '
            'allocator_name: "GPU_0_bfc" allocator_bytes_in_use: %d %s } } ')
    kept = "allocation_records { alloc_micros: 1000 alloc_bytes: 700000 }"
    with open(run_meta, "w") as file:
        file.write('step_stats { dev_stats { device: "/device:GPU:0" ' + node % ("c", 1100, 100, 3000000, "") +
                   node % ("b", 1000, 200, 2000000, kept) + node % ("a", 1190, 10, 1000000, "") + "} }")
    for words, megabytes in (([], 3), (["-hide_name_regexes", "c"], 2), (["-hide_name_regexes", "b,c"], 1)):
        out = works("graph", "--run_meta_path=" + run_meta, "-step", "0", *words, "-output", "timeline:outfile=" + path)
        assert "peak memory: %.2f MB" % megabytes in out, (words, out)
        with open(path + "_0") as file:
            assert ("0.7 MB from b" in file.read()) == (megabytes > 1), words


def timeline_of(directory, files, *words):
    """The graph view's timeline of files {"graph.pbtxt": text, "run_0": text, ...}, and what was printed."""
    for name, text in files.items():
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    runs = ",".join(os.path.join(directory, name) for name in files if name.startswith("run"))
    graph = ["--graph_path=" + os.path.join(directory, "graph.pbtxt")] if "graph.pbtxt" in files else []
    path = os.path.join(directory, "timeline")
    out = works("graph", *graph, "--run_meta_path=" + runs, *words, "-output", "timeline:outfile=" + path)
    with open(path + "_" + words[words.index("-step") + 1]) as file:
        return file.read(), out


def test_memory_read_in_two_steps_at_once():
    """Steps of several threads: what the other one read is none of this step's."""
    memory = ('node_stats { node_name: "%s" all_start_micros: %d op_end_rel_micros: %d memory { '
              'allocator_name: "GPU_0_bfc" allocator_bytes_in_use: %d } } ')
    run = 'step_stats { dev_stats { device: "/device:GPU:0" %s } }'
    files = {"run_0": run % (memory % ("a", 1000, 200, 1000000) + memory % ("b", 1100, 0, 2000000)),
             "run_1": run % (memory % ("c", 1000, 100, 5000000))}
    for step, megabytes in (("0", 2), ("1", 5)):
        _, out = timeline_of(tempfile.mkdtemp(prefix="tfprof-test-"), files, "-step", step)
        assert "peak memory: %d.00 MB" % megabytes in out, (step, out)


def test_timeline_of_what_ran_elsewhere():
    """A node that ran on a lane of no known form alone still belongs to its device, whose memory is shown."""
    files = {"run_0": run_meta_text(("/device:GPU:0", "a", 1000, 10)),
             "run_1": run_meta_text(("/host:CPU", "a", 5000, 10))}
    text, _ = timeline_of(tempfile.mkdtemp(prefix="tfprof-test-"), files, "-step", "1")
    assert "mem usage on:/device:gpu:0" in text and '"ph":"X"' not in text, text


def test_arrows_of_same_starts():
    """The shown run of a moment stands for the others that began then, those of hidden nodes too."""
    files = {"graph.pbtxt": 'node { name: "shown" op: "Add" } node { name: "hidden" op: "Add" } '
                            'node { name: "taker" op: "Add" input: "hidden" }',
             "run": run_meta_text(("/device:CPU:0", "shown", 1000, 10), ("/device:CPU:0", "hidden", 1000, 20),
                                  ("/device:GPU:0", "taker", 1100, 10))}
    text, _ = timeline_of(tempfile.mkdtemp(prefix="tfprof-test-"), files, "-step", "0", "-hide_name_regexes", "hidden")
    assert '"name":"shown_flow","ph":"s"' in text and '"name":"hidden"' not in text, text


# ---- advise ----


def test_advise():
    out = works(*GRAPH, "advise -checkers all")
    headings = re.findall(r"(?m)^(\w+Checker):$", out)
    assert headings[:3] == ["AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "OperationChecker"], out
    assert "SlowestSourceLineChecker" in headings, out
    four = works(*GRAPH, "--compat", "advise")
    headings = re.findall(r"(?m)^(\w+Checker):$", four)
    assert headings == ["AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "OperationChecker"], four
    for words in ("advise -compat", "advise --compat true", "advise -compat=1"):
        assert works(*GRAPH, words) == four, words
    assert works(*GRAPH, "--compat", "advise -compat false") == works(*GRAPH, "advise")
    of_one = works(*GRAPH, "--compat", "advise -checkers operation")
    assert works(*GRAPH, "advise -compat -checkers operation") == of_one
    status, _, error = tfprof(*GRAPH, "advise -compat maybe")
    assert (status, error) == (1, "error: -compat is true or false, not 'maybe'\n"), error
    one = works("advise", *GRAPH, "--checkers=ExpensiveOperationChecker")
    assert one == works(*GRAPH, "advise -checkers expensive_operation") and one in out, (one, out)
    assert "top 3 operation type" in one
    # By itself it says what the view says, in its order, and nothing else.
    rows = json.loads(works("--format", "json", *GRAPH, "SELECT * FROM advise"))
    assert json.loads(works("--format", "json", *GRAPH, "advise")) == rows and len(rows) > 3, rows
    listed = works(*GRAPH, "advise")
    wanted = []
    for row in rows:
        severity = row["severity"].replace("critical", "CRITICAL")
        wanted += [f"{severity} {row['check_name']}, {row['subject']}", "  " + row["message"],
                   "  → " + row["suggestion"], f"  {row['evidence']};", ""]
    assert [line.split(": saves ")[0] for line in listed.split("\n")] == wanted, listed
    narrow = works("--width", "60", *GRAPH, "advise").split("\n")
    assert all(len(line) <= 60 for line in narrow if re.match("  (?!SELECT )", line)), narrow
    assert " ".join(" ".join(narrow).split()) == " ".join(listed.split()), narrow
    nothing = works("--graph_path=" + GRAPH[0].split("=")[1], "DROP VIEW temp.advise",
                    "CREATE TEMP VIEW advise AS SELECT * FROM tfprof_findings WHERE 0", "advise")
    assert nothing == "No check found anything. SELECT * FROM coverage; tells how much that rests on.\n", nothing
    # An option holds for that command only.
    assert "accelerator: 0us" in one and "accelerator" not in listed, (one, listed)
    two = works(*GRAPH, "advise -checkers expensive_operation -count 2", "advise -checkers expensive_operation")
    assert "top 3 operation type" not in two[: len(two) // 2] and two.endswith(one), two
    assert works(*GRAPH, "advise -checkers ''") == ""
    rows = works("--format", "jsonl", *GRAPH, "advise -checkers operation,expensive_operation")
    assert rows and all(json.loads(row)["check_name"] in ("operation", "expensive_operation")
                        for row in rows.split("\n")[:-1])
    sql = works("--format", "csv", *GRAPH, "SELECT tfprof_set('expensive_operation.count', 1)",
                "SELECT count(*) FROM advise WHERE message LIKE 'top%type%'",
                "SELECT tfprof_set('expensive_operation.count', NULL)",
                "SELECT count(*) FROM advise WHERE message LIKE 'top%type%'")
    assert [line for line in sql.split("\n") if line.isdigit()] == ["1", "3"], sql


def test_expensive_lines():
    """The call tree branches where a line calls two that ran at all, however short the second ran."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    outer, run_meta = ("main.py", 1, "<module>"), os.path.join(directory, "run_meta")
    opened = made_of_lines(directory, {"a": [outer, ("main.py", 2, "long")], "b": [outer, ("main.py", 3, "short")]})
    opened.append("--run_meta_path=" + run_meta)

    def lines(long, short, *words):
        with open(run_meta, "w") as file:
            file.write('step_stats { dev_stats { device: "/device:CPU:0" ' + "".join(
                'node_stats { node_name: "%s" all_start_micros: 1000 op_end_rel_micros: %d } ' % run
                for run in (("a", long), ("b", short))) + "} }")
        out = works(*opened, *words, "advise -checkers ExpensiveOperationChecker")
        return out[out.index("top 1 operation"):].split("\n")[2 if short >= 100 else 1:]

    assert lines(5000, 5)[1] == "main.py:2:long, cpu: 5.00ms, accelerator: 0us, total: 5.00ms", lines(5000, 5)
    # None of the two long enough: with --compat the empty line of TensorFlow's profiler.
    assert (lines(50, 5), lines(50, 5, "--compat")) == ([""], ["", ""])


def test_shares_are_rounded_as_in_tensorflow():
    path = os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "run_meta")
    with open(path, "w") as file:
        file.write(run_meta_text(("/device:CPU:0", "a", 1000, 14), ("/device:CPU:0", "b", 1000, 306)))
    status, out, _ = tfprof("--run_meta_path=" + path, "advise -checkers ExpensiveOperationChecker")
    assert status == 0 and re.findall(r"total: (.*)\)", out) == ["306us (95.62%", "14us (4.37%"], out


def test_advise_with_mistakes():
    for words, wrong in (("-checkers NoChecker", "there is no checker 'NoChecker'; the checkers are Accelerator"),
                         ("-no_option 3", "no option -no_option; the options are -checkers"),
                         ("-count many", "-count takes a number, not 'many'"),
                         ("-checkers",
                          "-checkers needs names, separated by commas; the checkers are "
                          "AcceleratorUtilizationChecker, "),
                         ("JobChecker", "begin with a hyphen")):
        status, out, error = tfprof(*GRAPH, "advise " + words)
        assert (status, out) == (1, "") and wrong in error, (words, out, error)
    status, _, error = tfprof("SELECT tfprof_set('no.setting', 1)")
    assert status == 1 and "there is no setting 'no.setting'; the settings are: " in error, error
    # What there is nothing to go by is told.
    status, out, error = tfprof("advise -checkers ExpensiveOperationChecker", GRAPH[0])
    assert status == 0 and "no step was traced" in error, error
    status, out, error = tfprof("advise", GRAPH[0])
    assert status == 0 and "No step was traced" in out and not error, (out, error)


# ---- wrong uses ----


def test_wrong_files_for_options():
    files = {"graph_path": "graph.pb", "op_log_path": "op_log", "run_meta_path": "run_meta_0"}
    kinds = {"graph.pb": "GraphDef", "op_log": "OpLog", "run_meta_0": "RunMetadata"}
    for option in files:
        for name in set(kinds) - {files[option]}:
            status, out, error = tfprof(f"--{option}=" + os.path.join(FILES, name), "scope")
            assert status == 3 and option in error and kinds[name] in error, (option, name, error)
    status, _, error = tfprof("--profile_path=" + os.path.join(FILES, "graph.pb"), "scope")
    assert status == 3 and "GraphDef" in error, error


def test_files_with_nothing_in_them():
    """Messages that TensorFlow takes though they say nothing, or that look like text: by
    their option, not by themselves."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    name = b"\n\x0b\n\tvariable1"  # log_entries { name: "variable1" }: its first two bytes are white space
    files = {"op_log_path": [b"", name, b"\n\0", b"\x12\x05\x08\x01\x12\x01x"],
             "run_meta_path": [b"", b"\n\0", b"\n\x02\n\0", b"\x12\0", b"\x22\0"]}
    for option, contents in files.items():
        for number, content in enumerate(contents):
            path = os.path.join(directory, f"{option}-{number}")
            with open(path, "wb") as file:
                file.write(content)
            out = works("scope", GRAPH[0], f"--{option}={path}", *(["-step", "0"] if option == "run_meta_path" else []))
            assert "DW" in out or "_TFProfRoot (--/0us" in out, (option, content, out)
            assert tfprof(path, "scope")[0] == 3, (option, content)
    # By themselves, without anything that ran, they make no view.
    for content in files["run_meta_path"][:3]:
        with open(path, "wb") as file:
            file.write(content)
        status, out, error = tfprof("scope", "--run_meta_path=" + path)
        assert (status, out) == (1, "") and "--graph_path opens a graph" in error, (content, out, error)
    # A message of another kind that shows none is still refused.
    for option, content in (("graph_path", b"\n\x04\x08\x01\x12\0"), ("op_log_path", b"\x1a\x01x"),
                            ("run_meta_path", name)):
        path = os.path.join(directory, "other")
        with open(path, "wb") as file:
            file.write(content)
        status, _, error = tfprof(f"--{option}={path}", "scope")
        assert status == 3 and option + " must be" in error, (option, content, error)


def test_mistakes_name_what_is_possible():
    for words, wrong in (("scope -order_by speed", "it is name, depth, bytes"),
                         ("scope -select speed", "it is bytes, micros"),
                         ("scope -output paper", "the types are file, none, pprof, stdout and timeline"),
                         ("scope -speed 3", "there is no option '-speed'; the options are -max_depth, -min_bytes, "),
                         ("scope -max_depth many", "a whole number"),
                         ("scope -step 9", "there is no step 9; the steps are 0 1"),
                         ("scope -account_displayed_op_only perhaps", "true or false")):
        status, out, error = tfprof(*GRAPH, words)
        assert status == 1 and wrong in error and "_TFProfRoot" not in out, (words, error)
    status, _, error = tfprof(GRAPH[0], "scope -step 3")
    assert status == 1 and "there is no step 3; no step was traced" in error, error
    status, out, error = tfprof(*GRAPH, "scope -show_name_regexes '(unclosed'")
    assert status == 0 and "'(unclosed' is no regular expression" in error and "matches nothing" in error, error


def test_absurd_numbers():
    """A shape whose product fits nowhere, a time before all times: told, and no line lost."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    graph = os.path.join(directory, "graph.pbtxt")
    dims = "".join("dim { size: %d } " % size for size in (2**40, 2**40))
    with open(graph, "w") as file:
        file.write('node { name: "huge" op: "VariableV2" attr { key: "shape" value { shape { %s } } } }\n' % dims)
        file.write('node { name: "open" op: "VariableV2" attr { key: "shape" value { shape { dim { size: -1 } } } } '
                   '}\n')
        file.write('node { name: "a" op: "Op" input: "b" } node { name: "b" op: "Op" input: "a" input: "b:-1" }\n')
    out = works("graph", "--graph_path=" + graph, "-select", "params", "-max_depth", "9")
    assert "  huge (1099511627776x1099511627776, 0/0 params)\n" in out and "  open (-1, 0/0 params)\n" in out, out
    assert "\n  a (0/0 params)\n    b (0/0 params)\n" in out, out
    told = works("--graph_path=" + graph, "--format", "csv", "SELECT reason, count FROM diagnostics")
    assert told == "reason,count\nnumber_out_of_range,1\n", told


def test_functions_of_a_graph():
    """What functions of the library hold is counted, and no node: so it is in TensorFlow's profiler."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    text, binary = os.path.join(directory, "graph.pbtxt"), os.path.join(directory, "graph.pb")
    with open(text, "w") as file:
        file.write('node { name: "call" op: "PartitionedCall" } library { function { signature { name: "f" } '
                   'node_def { name: "in f" op: "MatMul" } node_def { name: "too" op: "Add" } } } '
                   'versions { producer: 3 }\n')
    call, nodes = b"\n\x04call\x12\x0fPartitionedCall", [b"\n\x04in f\x12\x06MatMul", b"\n\x03too\x12\x03Add"]
    function = b"\n\x03\n\x01f" + b"".join(b"\x1a" + bytes([len(node)]) + node for node in nodes)
    library = b"\n" + bytes([len(function)]) + function
    with open(binary, "wb") as file:
        file.write(b"\n" + bytes([len(call)]) + call + b"\x12" + bytes([len(library)]) + library)
    for path in (text, binary):
        out = works("op", "--graph_path=" + path, "-select", "occurrence")
        assert re.search(r"(?m)^PartitionedCall +0\|1$", out) and "MatMul" not in out, out
        told = works("--graph_path=" + path, "--format", "csv", "SELECT severity, reason, count FROM diagnostics")
        assert told == "severity,reason,count\ninfo,function_nodes,2\n", told


def test_hostile_patterns_end():
    """Patterns that make backtracking engines run for ever."""
    for pattern in ("(a+)+$", "(.*)*x{50}", "((.?){30}){30}y", "(x|x|x|x)*z", r"(\w+\s?)+;", "(.+)+(.+)+(.+)+!"):
        start = time.monotonic()
        tfprof(*GRAPH, f"graph -max_depth 1000 -show_name_regexes '{pattern}' -hide_name_regexes '{pattern}'")
        assert time.monotonic() - start < 60, pattern


def test_commas_of_repetitions():
    out = works("scope", *GRAPH, "-select", "params", "-max_depth", "2", "-show_name_regexes",
                "con{1,2}v,d{1,}ense,x{1")
    assert [line.split()[0] for line in out.split("\n") if line.startswith("  ")] == ["conv", "dense"], out


def test_average_and_thresholds():
    """-step -1 is the average over the steps in which a node ran; min_... means at least."""
    rows = works("--format", "csv", *GRAPH,
                 "SELECT name, micros FROM scope_view WHERE max_depth = 99 AND step = -1 EXCEPT "
                 "SELECT nodes.name, sum(exec_ns) / 1000 / count(*) FROM node_steps JOIN nodes ON nodes.id = node_id "
                 "GROUP BY 1")
    averaged = [row for row in rows.split("\n")[1:] if row and not row.endswith((",0", ","))]
    assert not averaged, averaged
    values = sorted({int(row) for row in works("--format", "csv", *GRAPH,
                                               "SELECT total_micros FROM scope_view").split()[1:]})
    middle = values[len(values) // 2]
    rows = works("--format", "csv", *GRAPH,
                 f"SELECT total_micros FROM scope_view WHERE min_micros = {middle}").split()[1:]
    assert min(map(int, rows)) == middle, (middle, rows)


# ---- the prompt ----


def test_set_and_the_empty_line():
    with shell(*GRAPH) as t:
        t.expect(PROMPT)
        t.send("\n")
        assert shown_options(t.expect(PROMPT)) == DOCUMENTED["2"].replace("\n", "").split("|")
        t.send("set -max_depth 2 -select params\n")
        assert "-max_depth                  2" in t.expect(PROMPT)
        t.send("scope\n")
        text = t.expect(PROMPT)
        assert "# parameters" in text and "total execution time" not in text, text
        t.send("scope -select micros\n")
        assert "total execution time" in t.expect(PROMPT)
        t.send("\n")
        assert "-select                     params" in t.expect(PROMPT)
        t.send("SELECT count(*) > 0 AS there FROM op_view;\n")
        assert re.search(r"│ +1 │", t.expect(PROMPT))
        t.send("help scope\n")
        assert "-min_micros 0" in t.expect(PROMPT)
        t.send("help advise\n")
        assert "JobChecker" in t.expect(PROMPT)


def test_the_empty_line_of_others():
    """Who does nothing with the views is not shown their options."""
    with shell(os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")) as t:
        t.expect(PROMPT)
        t.send("\n")
        assert "max_depth" not in t.expect(PROMPT), "options of the views"
        t.send("set -max_depth 2\n")
        assert "-max_depth                  2" in t.expect(PROMPT)
        t.send("\n")
        assert "-max_depth                  2" in t.expect(PROMPT)


def test_ctrl_c_stops_a_view():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    graph = os.path.join(directory, "graph.pbtxt")
    with open(graph, "w") as file:
        file.writelines('node { name: "a_node_with_a_name_%06d" op: "Op" }\n' % number for number in range(100000))
    with shell("--graph_path=" + graph) as t:
        t.expect(PROMPT)
        t.send("scope\n")  # the terminal takes a few lines, and no more until they are read
        t.expect("a_node_with_a_name_000000 ")
        t.send("\x03")
        text = t.expect(PROMPT)
        assert "interrupted" in text and "a_node_with_a_name_099999" not in text, text[-500:]
        t.send("op -select occurrence\n")
        assert re.search(r"Op +0\|100000", t.expect(PROMPT))


def completed(t, typed, wanted):
    t.send(typed + "\t")
    t.expect(re.escape(wanted))
    t.send("\x15")  # Ctrl-U: the line is gone


def test_completion():
    with shell(*GRAPH) as t:
        t.expect(PROMPT)
        for typed, wanted in (("scop", "scope "), ("op -sel", "op -select "),
                              ("op -select acc", "op -select accelerator_micros "),
                              ("op -select micros,occ", "micros,occurrence "), ("op -order_by nam", "-order_by name "),
                              ("code -output tim", "-output timeline:outfile="),
                              ("set -generation 0", "-generation 0.12 "),
                              ("graph -account_displayed_op_only t", "only true "),
                              ("advise -checkers Jo", "-checkers JobChecker "),
                              ("advise -acc", "advise -accelerator_utilization.low_ratio "),
                              ("SELECT * FROM scope_v", "FROM scope_view "),
                              ("advise -checkers jo", "JobChecker "), ("op --max", "op --max_depth "),
                              ("scope -account_type_regexes varh", "VarHandleOp "),
                              ("help sc", "ope")):  # a bell between: scope, or scope_view
            completed(t, typed, wanted)
        t.send("op -step \t\t")
        t.expect(r"0 +1 *\n")
        t.send("\x15tables \t\t\n")
        assert "jsonl" not in t.expect("one row for each path")


def test_no_colour_without_a_terminal():
    for words in (["scope"], ["advise"], ["help"], ["SELECT 1"]):
        assert "\x1b" not in works(*GRAPH, *words)


if __name__ == "__main__":
    run_tests(globals())

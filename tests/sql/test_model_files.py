"""What lies in the directories of TensorFlow's models: opened together, or told what it is and what beside it opens."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engines import run_tests
from exchange_formats import message
from made_graphs import CONV, COSTS, FILES, GRAPH, LOG, NODES, PROFILE, RUN, RUN_TEXT, TEXT, opened
from xplane_files import message as field


def copied(directory, **files):
    """A directory with copies of the files, by their names there."""
    os.makedirs(directory)
    for name, path in files.items():
        shutil.copy(path, os.path.join(directory, name))
    return directory


def test_directory_of_a_program(engine):
    """What lies beside the only graph is one profile with it, as if it had been named."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as parent:
        folder = copied(os.path.join(parent, "program"), graph=GRAPH, run_meta_3=RUN, run_meta_12=RUN_TEXT, op_log=LOG)
        named = opened(engine, "graph_path", GRAPH, "op_log_path", LOG, "run_meta_path", RUN, "step", 3,
                       "run_meta_path", RUN_TEXT, "step", 12)
        for path in (folder, folder + "/*"):
            found = opened(engine, path)
            assert found.values("SELECT count(*), min(format) FROM profiles") == [(1, "tf_run_metadata")]
            for query in (NODES, COSTS, "SELECT reason, count FROM diagnostics ORDER BY reason",
                          "SELECT nodes.name, type FROM node_types JOIN nodes ON nodes.id = node_id ORDER BY 1, 2"):
                assert found.values(query) == named.values(query), query
            # Each of the files is open, and is not opened again.
            for name in ("", "graph", "run_meta_12", "op_log"):
                again = found.values("SELECT tfprof_open('%s')" % os.path.join(folder, name))
                assert again == [(1,)], (name, again)
            assert found.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 1)]
            # What appears later is by itself.
            shutil.copy(RUN, os.path.join(folder, "run_meta_13"))
            assert found.values("SELECT tfprof_refresh() > 0") == [(1,)]
            assert found.values("SELECT count(*) FROM profiles") == [(2,)]
            os.remove(os.path.join(folder, "run_meta_13"))
        # One that is damaged is told, and leaves the others.
        with open(os.path.join(folder, "run_meta_3"), "r+b") as file:
            file.truncate(40)
        found = opened(engine, folder)
        assert [list(row)[:2] for row in found.values(COSTS) if row[0] == CONV] == [[CONV, 12]], found.values(COSTS)
        assert [os.path.basename(row[0].split(" could")[0]) for row in found.values(
            "SELECT message FROM diagnostics WHERE reason = 'unopened_file'")] == ["run_meta_3"]
        # The parts of several programs are not one.
        for name, files in (("graphs", {"graph": GRAPH, "graph.pbtxt": TEXT, "run_meta": RUN}),
                            ("profiles", {"graph": GRAPH, "profile_3": PROFILE, "op_log": LOG})):
            apart = opened(engine, copied(os.path.join(parent, name), **files))
            assert apart.values("SELECT count(*) FROM profiles") == [(len(files),)], name
        files = {"graph": GRAPH, "a": LOG, "b": LOG, "x": RUN, "y": RUN, "run_4": RUN}
        several = opened(engine, copied(os.path.join(parent, "logs"), **files))
        assert several.values("SELECT count(*), count(DISTINCT run_id) FROM profiles") == [(5, 1)]


META_INFO = field(2, field(1, field(1, b"Conv2D"))) + field(4, b"serve") + field(5, b"2.21.0")


def written(directory, name, data):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_saved_graphs(engine):
    """A MetaGraphDef and a SavedModel open as the graph in them."""
    with open(GRAPH, "rb") as file:
        meta = field(1, META_INFO) + field(2, file.read())
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
        for name, data in (("model.ckpt-4.meta", meta), ("saved_model.pb", b"\x08\x01" + field(2, meta)),
                           ("old.meta", field(1, field(1, b"v1") + META_INFO) + meta[len(field(1, META_INFO)):])):
            found = opened(engine, written(folder, name, data))
            assert found.values(NODES) == opened(engine, GRAPH).values(NODES), name
            assert found.values("SELECT format FROM profiles") == [("tf_graph",)], name
            # As --graph_path, too, with what belongs to it; of a SavedModel its directory.
            paths = [os.path.join(folder, name), *[folder] * (name == "saved_model.pb")]
            for path in paths:
                named = opened(engine, "graph_path", path, "run_meta_path", RUN)
                assert named.values(NODES) == opened(engine, "graph_path", GRAPH, "run_meta_path", RUN).values(NODES)


def test_directory_of_a_saver(engine):
    """The graph counts once, with the checkpoint that the Saver names as its newest; its prefix opens, too."""
    index = os.path.join(FILES, "checkpoint.index")
    with open(GRAPH, "rb") as file:
        meta = field(1, META_INFO) + field(2, file.read())
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as parent:
        names = {"model.ckpt-%d.index" % i: index for i in (2, 3, 10)}
        folder = copied(os.path.join(parent, "run"),
                        **{"graph.pbtxt": TEXT, "graph.pb": GRAPH, "run_meta_3": RUN}, **names)
        for i in (2, 3, 10):
            written(folder, "model.ckpt-%d.meta" % i, meta)
        joined = "SELECT tensors.name, nodes.name IS NOT NULL FROM tensors LEFT JOIN nodes ON nodes.id = node_id"
        left = "SELECT message FROM diagnostics WHERE reason = 'older_files'"
        for state, newest in ((None, 10), ('model_checkpoint_path: "model.ckpt-3"\n', 3),
                              ('model_checkpoint_path: "gone/model.ckpt-7"\nall_model_checkpoint_paths: "a"\n', 10)):
            if state:
                written(folder, "checkpoint", state.encode())
            found = opened(engine, folder)
            assert found.values("SELECT count(*) FROM profiles") == [(1,)], state
            assert found.values(NODES) == opened(engine, GRAPH).values(NODES), state
            assert sum(row[1] for row in found.values(joined)) == 1, state
            assert found.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 1)], state
            assert f"model.ckpt-{newest}.index" not in found.values(left)[0][0], (state, found.values(left))
            assert found.values(f"SELECT tfprof_open('{folder}/model.ckpt-{newest}.index')") == [(1,)], state
        # Without a graph of its own the Saver's is taken.
        for name in ("graph.pb", "graph.pbtxt"):
            os.remove(os.path.join(folder, name))
        found = opened(engine, folder)
        assert found.values("SELECT count(*), min(path) LIKE '%ckpt-10.meta' FROM profiles") == [(1, 1)]
        assert sum(row[1] for row in found.values(joined)) == 1
        for path in ("model.ckpt-3", "model.ckpt-3.index"):
            assert opened(engine, os.path.join(folder, path)).values("SELECT format FROM profiles") == [
                ("tf_checkpoint",)], path
        written(folder, "checkpoint", b'model_checkpoint_path: "model.ckpt-3"')
        assert opened(engine, os.path.join(folder, "checkpoint")).values("SELECT count(*) FROM tensors")[0][0] > 1
        written(folder, "checkpoint", b"model_checkpoint_path: nothing")
        _, error = engine().query(f"SELECT tfprof_open('{folder}/checkpoint')")
        assert error.endswith("checkpoint names no checkpoint"), error


def test_files_without_a_profile(engine):
    """What is told of files that people name and that hold none, with what beside them opens."""
    device = message((1, "/host:CPU"), (2, 701), (3, message((1, 7), (2, message((1, "python"))))))
    trace_events = message((1, message((1, 701), (2, device))), (4, message((1, 701), (2, 7), (3, "MatMul"))))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
        shutil.copy(os.path.join(FILES, "checkpoint.index"), os.path.join(folder, "model.index"))
        for name, data, expected in (
                ("events.out.tfevents.17.vm.v2", bytes(12) + b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2",
                 "event file"),
                ("model.data-00000-of-00001", bytes(range(200)), "values of a TensorFlow checkpoint"),
                ("m.keras", b"PK\x03\x04" + bytes(20) + b"metadata.json", "Keras model"),
                ("w.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(50), "HDF5"),
                ("step.hlo", b"module jit_step", "neither the text of one"),
                ("step.stablehlo", b"module @jit_step attributes {mhlo.num_partitions = 1 : i32} {", "StableHLO"),
                ("step.txt", b"#loc1 = loc(\"x\")\nmodule @f {\n  stablehlo.add", "lowered.compile().as_text()"),
                ("session.pb", trace_events, "trace events of TensorFlow (tensorflow.profiler.Trace), not an XSpace"),
                ("step.mlir.bc", b"ML\xefR\x0dStableHLO_v1.0", "StableHLO")):
            path = written(folder, name, data)
            error = engine().query(f"SELECT tfprof_open('{path}')")[1]
            assert error and expected in error and error.endswith("model.index can be opened"), (name, error)
        deeper = os.path.join(folder, "train", "plugins", "profile", "2026_01_01_00_00_00")
        os.makedirs(deeper)
        written(deeper, "vm.xplane.pb", b"")
        assert error and deeper in engine().query(f"SELECT tfprof_open('{path}')")[1], "the run below"
        events = os.path.join(folder, "train", "validation")
        os.makedirs(events)
        path = written(events, "events.out.tfevents.17.vm.v2", bytes(12) + b"\x1a\x0dbrain.Event:2")
        assert deeper in engine().query(f"SELECT tfprof_open('{path}')")[1], "the run beside its directory"


if __name__ == "__main__":
    run_tests(sys.modules[__name__])

#!/usr/bin/env python3
"""test_served_recording.py: recording from the page of `tfprof serve`: who may, what comes of it, and what is said.

The program that is asked is a real one, of PyTorch; profiler servers are doubles.
"""

import json
import os
import shutil
import stat
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "capture")]
import capturing  # noqa: E402
import profiler_doubles as doubles  # noqa: E402
import xplane_files as xplane  # noqa: E402
import test_attach  # noqa: E402
from reports import CAPTURE  # noqa: E402
from serving import Served, skip_without  # noqa: E402
from test_browser import ARGUMENTS  # noqa: E402
from test_served_page import Tab  # noqa: E402


def space(name):
    events = [xplane.event(name + ":" + name, 1000 * i, 400, id=i + 1) for i in range(10)]
    return xplane.space(xplane.plane("/host:CPU", [xplane.line(7, "main", events)]))


def post(served, words, headers=None):
    status, _, body = served.raw("POST", "/api/record?" + urllib.parse.urlencode(words), headers or served.good)
    return status, body.decode()


def recorded(served, **words):
    status, body = post(served, {"run": 0, **words})
    assert status == 200, (status, body)
    return json.loads(body)


def check_rules(directory):
    """Nobody but a page of the server can begin a recording, and nothing that is asked for is an option or a path."""
    double = doubles.Double(lambda call: call.good(space("Op")))
    run = os.path.join(directory, "rules")
    os.makedirs(run, mode=0o700)
    with Served(run) as served:
        words = {"run": 0, "addresses": double.address, "duration_ms": 10}
        good = served.good
        for status, headers in (
                (401, {"Host": "127.0.0.1"}), (401, {**good, "Authorization": "Bearer " + "0" * 32}),
                (403, {**good, "Origin": "http://evil.example"}), (403, {**good, "Origin": "null"}),
                (403, {**good, "Sec-Fetch-Site": "cross-site"}), (421, {**good, "Host": "evil.example"})):
            got, body = post(served, words, headers)
            assert got == status, (got, body, headers)
        assert served.raw("GET", "/api/record?run=0", good)[0] == 405
        assert served.raw("OPTIONS", "/api/record?run=0", good)[0] == 405
        for wrong in ({"addresses": "--output=x"}, {"addresses": "run:/tmp"}, {"addresses": "a:1 b"},
                      {"addresses": "../a:1"}, {"addresses": ""}, {"count": 0}, {"count": "x"}, {"host_level": 4},
                      {"device_level": -1}, {"duration_ms": 0}, {"retries": 101}, {"output": "x"},
                      {"addresses": "a" * 5000}):
            got, body = post(served, {"run": 0, **wrong})
            assert got == 400 and "arameter" in body, (wrong, got, body)
        assert post(served, {**words, "run": "all"})[0] == 200  # the only one there is
        assert post(served, {**words, "run": 3})[0] == 404
        assert len(double.calls) == 1 and os.listdir(run) == [double.name], os.listdir(run)
        # Once more, beside it; and one that fails, of which it is said what is wrong.
        assert recorded(served, addresses=double.address)["status"] == 0 and len(os.listdir(run)) == 2
        answer = recorded(served, addresses="127.0.0.1:1," + double.address, duration_ms=20)
        assert answer["status"] == 1 and "127.0.0.1:1: nobody listens there" in answer["said"], answer
        assert served.ask("recordable?run=0") == {"count": 0, "error": None}
        assert "no program of that run" in recorded(served, count=3)["said"]
        assert len(os.listdir(run)) == 3
        served.until(lambda: served.sql("SELECT count(*) FROM profiles")["rows"] == [[3]])
    with Served(CAPTURE, run) as served:
        assert "no run directory" in served.ask("recordable?run=0")["error"]
        assert "no run directory" in recorded(served, addresses=double.address)["said"]
        got, body = post(served, {**words, "run": "all"})
        assert got == 400 and "choose it" in body, (got, body)
    # The end of the server ends a recording, and waits for what it has until then.
    slow = doubles.Double(doubles.until_ended(space("Slow")))
    with Served(run) as served:
        connection = served.begin("POST", "/api/record?run=0&duration_ms=600000&addresses=" + slow.address)
        served.until(lambda: slow.calls)
    connection.close()
    assert slow.name in os.listdir(run), os.listdir(run)


def check_page(browser, directory):
    """The two ways from the page, into a run that is empty when it is opened."""
    double = doubles.Double(lambda call: call.good(space("<b>Op</b>")))
    with test_attach.dormant(directory) as (_, run, program), Served(run) as served:
        assert served.ask("recordable?run=0") == {"count": 1, "error": None}
        tab = Tab(browser, served)
        said = tab.tab.locator("#record [role=status]")
        tab.tab.locator("#record-steps").click()
        said.get_by_text("in 5 optimizer steps").wait_for(timeout=60000)
        assert "look at it" not in said.inner_text()
        served.until(lambda: served.sql("SELECT count(*) FROM steps")["rows"] == [[5]])
        tab.show("steps")
        tab.tab.locator(".header-facts", has_text="5").first.wait_for(timeout=60000)
        for address, words in ((double.address, "recorded the profile of a server"),
                               ("127.0.0.1:1", "127.0.0.1:1: nobody listens there")):
            tab.tab.locator("#record-servers").click()
            tab.tab.locator("#capture input[name=addresses]").fill(" grpc://" + address)
            tab.tab.locator("#capture input[name=duration_ms]").fill("123")
            tab.tab.locator("#capture input[name=host_level]").fill("3")
            tab.tab.locator("#capture .begin").click()
            said.get_by_text(words).wait_for(timeout=60000)
        asked = double.calls[0].fields
        assert asked[1] == 123 and dict(xplane.fields(asked[4]))[2] == 3, asked
        assert "error" in said.get_attribute("class")
        served.until(lambda: served.sql("SELECT count(*) FROM profiles")["rows"] == [[2]])
        test_attach.end(program, directory)
        tab.tab.wait_for_function("() => document.getElementById('record-steps').hidden", timeout=60000)
        tab.close()
        # A page without the token has no such buttons.
        stranger = browser.new_context().new_page()
        stranger.goto(tab.root)
        stranger.get_by_text("The token is missing or wrong").wait_for()
        assert stranger.locator("#record").count() == 0
        stranger.context.close()
    modes = {stat.S_IMODE(os.stat(os.path.join(run, name)).st_mode) for name in os.listdir(run)}
    assert modes == {0o600}, modes


def main():
    skip_without()
    if "libcurl" in test_attach.ask("--attach", "127.0.0.1:1", status=125)[1]:
        capturing.skip("tfprof-capture was built without libcurl, or there is none")
    capturing.need_torch()
    with capturing.Directory() as directory:
        directory = os.path.abspath(directory)
        os.environ["XDG_RUNTIME_DIR"] = directory
        check_rules(directory)
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            capturing.skip("this Python has no playwright")
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not chromium:
            capturing.skip("there is no chromium to look at the page in")
        arguments = [word.replace("~NOTFOUND", "~NOTFOUND, EXCLUDE 127.0.0.1") for word in ARGUMENTS]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
            check_page(browser, directory)
            browser.close()


main()

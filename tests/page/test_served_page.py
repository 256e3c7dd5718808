#!/usr/bin/env python3
"""test_served_page.py: the page of `tfprof serve` in a browser: it shows what views say, also of a run that grows.

No host can be resolved but this one; every page loads without a message. Texts of a profile that are markup stay texts.
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reports  # noqa: E402
from reports import CAPTURE, query, scratch  # noqa: E402
from serving import Served, skip_without  # noqa: E402
from test_browser import ARGUMENTS, PAGES, skip  # noqa: E402


class Tab:
    """A tab on a server that remembers what the browser says and asks for."""

    def __init__(self, browser, served, **settings):
        self.context = browser.new_context(accept_downloads=True, **settings)
        self.tab, self.said, self.asked = self.context.new_page(), [], []
        self.root = f"http://127.0.0.1:{served.port}/"
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(served.address)
        self.complete()

    def complete(self):
        self.tab.wait_for_selector("html[data-complete]", timeout=120000)

    def show(self, page, **state):
        words = "&".join(f"{key}={value}" for key, value in {"page": page, **state}.items())
        self.tab.evaluate("hash => { location.hash = hash; }", "#" + words)
        self.tab.wait_for_selector(f'main.{page}[data-ready="{page}"]')

    def close(self):
        assert not self.said, self.said
        strange = [url for url in self.asked if not url.startswith((self.root, "blob:", "data:"))]
        assert not strange, strange
        # The token is in no address that is asked, nor in the one that the person sees.
        assert not [url for url in self.asked[1:] if "token" in url] and "token" not in self.tab.url
        self.context.close()


def check_pages(browser):
    with Served(CAPTURE) as served:
        tab = Tab(browser, served)
        for page in PAGES:
            tab.show(page)
        tab.show("timeline")
        tab.tab.wait_for_function("() => performance.getEntriesByName('first-frame').length")
        tab.show("ops")
        wanted = query(CAPTURE, "SELECT op, host_self_ns FROM tb_operator_summary ORDER BY 2 DESC, 1")
        cells = tab.tab.locator("#p-tb_operator_summary tbody tr").first.locator("td")
        head = tab.tab.locator("#p-tb_operator_summary thead th").all_inner_texts()
        assert cells.nth(head.index("op")).inner_text() == wanted[0]["op"]
        assert cells.nth(head.index("host self")).get_attribute("title") == str(wanted[0]["host_self_ns"])
        # SQL of one's own: its rows, what is wrong with it, and what takes too long is stopped.
        tab.show("sql")
        box, result = tab.tab.locator("#sql-box textarea"), tab.tab.locator("#sql-box .result")
        for sql, said in (("SELECT count(*) AS n FROM ops", "10,000"), ("SELECT nme FROM ops", "no such column: nme"),
                          ("DROP VIEW temp.advise", "not authorized: what is open can be asked"),
                          ("SELECT '<img src=x>' AS t", "<img src=x>")):
            box.fill(sql)
            box.press("Control+Enter")
            result.get_by_text(said).first.wait_for()
        assert tab.tab.locator("img").count() == 0
        box.fill("SELECT count(*) AS n FROM op_summ")
        box.press("Tab")
        assert box.input_value() == "SELECT count(*) AS n FROM op_summary"
        # The SELECT of a panel is in the box, and its rows are those of the panel.
        tab.show("sql", panel="phases")
        assert "FROM temp.phase_summary" in box.input_value()
        box.press("Control+Enter")
        wanted = len(query(CAPTURE, "SELECT * FROM phase_summary"))
        result.get_by_text(f"{wanted} rows").first.wait_for()
        box.fill("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
        box.press("Control+Enter")
        tab.tab.locator("#sql-box button", has_text="Stop").click()
        result.get_by_text("Stopped.").wait_for()
        assert served.sql("SELECT 1")["rows"] == [[1]]
        # The tab keeps the token over a reload, another one has none.
        tab.tab.reload()
        tab.complete()
        tab.close()
        stranger = browser.new_context().new_page()
        stranger.goto(tab.root)
        stranger.get_by_text("The token is missing or wrong").wait_for()
        stranger.context.close()


def check_growing(browser):
    """Rows come to what is on the screen without a reload, and the timeline gets longer."""
    path = os.path.join(scratch.DIRECTORY, "served.tfprof")
    with open(CAPTURE, "rb") as file:
        whole = file.read()
    with open(path, "wb") as file:
        file.write(whole[:len(whole) // 2])
    with Served(path) as served:
        assert served.sql("SELECT count(*) FROM ops")["rows"] == [[0]]
        tab = Tab(browser, served)
        tab.show("timeline", q="aten")
        tab.tab.locator(".timeline .empty, .timeline .tools").first.wait_for()
        with open(path, "ab") as file:
            file.write(whole[len(whole) // 2:])
        tab.tab.locator(".tools .note", has_text="events of").wait_for(timeout=60000)
        tab.tab.locator(".header-facts", has_text="10.0 k").wait_for()
        assert "old" in tab.tab.locator("#age").inner_text()
        # What was not shown when they came has them, too, when it is.
        for page, panel in (("ops", "tb_operator_summary"), ("code", "code_lines"), ("overview", "step_summary")):
            tab.show(page)
            tab.tab.locator(f"#p-{panel} table, #p-{panel} dl").first.wait_for(timeout=60000)
        tab.close()


def check_trouble(browser):
    """A file that is cut, gone, or another one while it is looked at: the page says so, and shows what there is."""
    path = os.path.join(scratch.DIRECTORY, "troubled.json")
    links = os.path.join(reports.ROOT, "tests", "fixtures", "kineto", "links.json")
    shutil.copy(links, path)
    with Served(path) as served:
        tab = Tab(browser, served)
        said = tab.tab.locator("#troubles")
        assert said.inner_text() == ""
        facts = tab.tab.locator(".header-facts").inner_text()
        for change, words in ((lambda: os.truncate(path, 1000), "ends in the middle"),
                              (lambda: os.truncate(path, 0), "was changed or replaced"),
                              (lambda: os.remove(path), "No such file"),
                              (lambda: shutil.copy(links, path), "")):
            change()
            # As if one came back to the tab each second, which is how soon files are looked after again.
            tab.tab.wait_for_function("""words => {
              const said = document.getElementById('troubles').textContent;
              document.dispatchEvent(new Event('visibilitychange'));
              return words ? said.includes(words) : !said;
            }""", arg=words, timeout=60000, polling=1000)
            assert served.raw("GET", "/", served.good)[0] == 200
        tab.tab.wait_for_function("facts => document.querySelector('.header-facts').innerText === facts", arg=facts,
                                  timeout=60000)
        tab.close()


def check_several(browser):
    with Served(CAPTURE, reports.hostile_trace()) as served:
        tab = Tab(browser, served)
        assert tab.tab.locator("#run option").all_inner_texts() == ["all 2", "ops.tfprof", "hostile.json"]
        tab.tab.locator("#run").select_option("1")
        tab.complete()
        for page in PAGES:
            tab.show(page, run=1)
            assert tab.tab.evaluate("document.querySelectorAll('img, main b, iframe, object').length") == 0, page
        tab.show("devices", run=1)
        tab.tab.locator("#p-kernel_summary", has_text="</script><img").wait_for()
        tab.close()


def main():
    skip_without()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip("this Python has no playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        skip("there is no chromium to look at the page in")
    arguments = [word.replace("~NOTFOUND", "~NOTFOUND, EXCLUDE 127.0.0.1") for word in ARGUMENTS]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        check_pages(browser)
        check_growing(browser)
        check_trouble(browser)
        check_several(browser)
        browser.close()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The operator's page in a headless browser: 77 (skipped) without one.

usage: test_dashboard.py ADMIN_FIXTURE
"""

import json
import os
import signal
import sys
import unittest

import browser
from stage import Stage

FIXTURE = sys.argv.pop(1)
if not browser.find_browser():
    sys.exit(77)

HOSTILE = "<b>\"even\"\\two</b>"
ROWS = "document.querySelectorAll('#target-rows tr')"
OPENED = ("document.querySelector('.decision[data-open] .candidates tbody tr')"
          " !== null")


def row(target):
    """The row of a target."""
    return (f"[...{ROWS}].find(row => row.dataset.target === "
            f"{json.dumps(target)})")


def button(target, text):
    return (f"[...{row(target)}.querySelectorAll('button')]"
            f".find(button => button.textContent === {json.dumps(text)})")


CONFIRM = "document.getElementById('dialog-confirm').click()"
NO_DIALOG = "!document.getElementById('dialog').open"


class Page(unittest.TestCase):
    targets = 5

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def setUp(self):
        self.stage = Stage(FIXTURE, targets=self.targets)
        self.addCleanup(self.stop)
        self.page = self.browser.open(self.stage.url)
        self.page.wait(f"{ROWS}.length > 0")

    def stop(self):
        self.page.close()
        self.assertEqual(self.stage.stop(), 0)

    def clean(self):
        """Nothing was written to the console, nothing came from elsewhere."""
        self.assertEqual(self.page.complaints(), [])
        for address in self.page.requested():
            self.assertTrue(address.startswith((self.stage.url, "data:")),
                            address)

    def text(self, selector):
        return self.page.run(
            f"document.querySelector({json.dumps(selector)}).innerText")


class Reading(Page):
    def test_it_loads_in_silence_and_from_one_place(self):
        self.page.wait("document.querySelectorAll('.decision').length > 5")
        self.page.wait("document.querySelectorAll('.client').length > 2")
        self.page.wait("/^[0-9]/.test(document.querySelector('.figure')"
                       ".textContent)")
        self.assertGreater(len(self.page.requested()), 5)
        self.clean()

    def test_every_target_is_there(self):
        names = self.page.run(f"[...{ROWS}].map(row => row.dataset.target)")
        self.assertEqual(len(names), 16)
        self.assertIn(HOSTILE, names)
        self.assertEqual(self.text("#target-count"), "16")

    def test_hostile_names_are_text(self):
        self.page.wait("document.querySelectorAll('.decision').length > 5")
        self.page.run("document.querySelector('.decision button').click()")
        self.page.wait("document.querySelector('.unfolded') !== null")
        self.assertEqual(self.page.run("document.title"), "lbroute")
        self.assertEqual(self.page.run(
            "document.querySelectorAll('main img, main b:not(.bar > b)')"
            ".length"), 0)
        self.assertIn("<img src=x onerror=", self.page.run(
            f"{row(HOSTILE)}.innerText"))
        self.clean()

    def test_a_drift_is_flagged(self):
        self.assertFalse(self.page.run(
            "document.querySelector('.badge.drift') !== null"))
        self.stage.post("/api/targets/even-3", {"bench_s": 30})
        self.page.wait(f"{row('even-3')}.querySelector('.badge.drift')")
        share = self.page.run(f"{row('even-3')}.innerText")
        self.assertRegex(share, "drift −")
        self.assertRegex(share, "benched")
        self.page.run("const state = document.getElementById('filter-state');"
                      "state.value = 'drift';"
                      "state.dispatchEvent(new Event('input'))")
        self.assertLessEqual(self.page.run(f"{ROWS}.length"), 3)
        self.clean()

    def test_a_decision_unfolds(self):
        explained = ("[...document.querySelectorAll('.decision button')]"
                     ".find(row => row.querySelector('.mark'))")
        self.page.wait(explained)
        self.page.run(f"{explained}.click()")
        self.page.wait(OPENED)
        number = self.page.run("document.querySelector('.decision[data-open]')"
                               ".dataset.number")
        wanted = self.stage.get(f"/api/decisions/{number}")
        shown = self.page.run("[...document.querySelectorAll("
                              "'.decision[data-open] .candidates tbody tr')]"
                              ".map(row => row.cells[0].textContent)")
        self.assertEqual(
            sorted(name.removeprefix("★ ") for name in shown),
            sorted(candidate["target"]
                   for candidate in wanted["explanation"]))
        if wanted["target"]:
            self.assertEqual(shown[0], "★ " + wanted["target"])
        # What is read stays: no newer decision pushes it away.
        self.page.wait("document.getElementById('pause').textContent"
                       " === 'Resume'")
        self.page.run("document.getElementById('pause').click()")
        self.page.wait("document.querySelector('.decision[data-open]')"
                       " === null")
        self.clean()

    def test_a_sample_is_explained(self):
        self.page.wait("document.getElementById('sample-model').value")
        self.page.run("document.getElementById('sample-model').value ="
                      " 'llama-3.1-70b';"
                      "document.getElementById('sample-ask').click()")
        self.page.wait("document.querySelectorAll("
                       "'#sample-answer .candidates tbody tr').length === 5")
        self.assertIn("X-Lbroute-Server: chat-", self.text("#sample-answer"))
        self.page.run("document.getElementById('sample-model').value ="
                      " 'nobody';"
                      "document.getElementById('sample-ask').click()")
        self.page.wait("document.getElementById('sample-answer').innerText"
                       ".includes('404')")
        self.clean()

    def test_it_says_when_nobody_answers(self):
        self.stage.process.send_signal(signal.SIGSTOP)
        try:
            self.page.wait("!document.getElementById('stale').hidden", 30)
        finally:
            self.stage.process.send_signal(signal.SIGCONT)
        self.assertIn("does not answer", self.page.run(
            "document.getElementById('stale').textContent"))
        self.page.wait("document.getElementById('stale').hidden")

    def test_every_control_has_a_name(self):
        unnamed = self.page.run(
            "[...document.querySelectorAll('button, input, select, textarea')]"
            ".filter(control => !control.closest('dialog') &&"
            " !(control.getAttribute('aria-label') || control.innerText"
            " || control.textContent || control.closest('label')))"
            ".map(control => control.outerHTML)")
        self.assertEqual(unnamed, [])

    def test_it_fits_narrow_and_wide(self):
        for width in [360, 768, 1280, 2560]:
            self.page.resize(width)
            self.assertLessEqual(
                self.page.run("document.documentElement.scrollWidth"), width)


class Controls(Page):
    def test_drain(self):
        self.page.run(f"{button('chat-1', 'Drain')}.click()")
        self.page.wait("document.getElementById('dialog').open")
        self.assertFalse(self.stage.target("chat-1")["drained"],
                         "asked before it is done")
        self.page.run(CONFIRM)
        self.page.wait(NO_DIALOG)
        self.assertTrue(self.stage.target("chat-1")["drained"])
        self.assertIn("chat-1 drains", self.text("#notice"))
        self.page.wait(f"{button('chat-1', 'Restore')}")
        self.page.run(f"{button('chat-1', 'Restore')}.click(); {CONFIRM}")
        self.page.wait(f"{button('chat-1', 'Drain')}")
        self.assertFalse(self.stage.target("chat-1")["drained"])
        self.clean()

    def test_cancel_does_nothing(self):
        self.page.run(f"{button('chat-1', 'Drain')}.click();"
                      "document.getElementById('dialog-cancel').click()")
        self.page.wait(NO_DIALOG)
        self.assertFalse(self.stage.target("chat-1")["drained"])

    def test_weight_of_a_hostile_name(self):
        self.page.run(f"{button(HOSTILE, 'Weight')}.click();"
                      "document.getElementById('dialog-input').value = '4.5';"
                      + CONFIRM)
        self.page.wait(NO_DIALOG)
        self.assertEqual(self.stage.target(HOSTILE)["weight"], 4.5)
        self.clean()

    def test_an_error_stays_in_sight(self):
        self.page.run(f"{button('chat-1', 'Weight')}.click();"
                      "document.getElementById('dialog-input').value = '-3';"
                      + CONFIRM)
        self.page.wait("!document.getElementById('dialog-error').hidden")
        self.assertIn("1e-6 to 1e9", self.text("#dialog-error"))
        self.assertFalse(self.page.run(NO_DIALOG))
        self.assertEqual(self.stage.target("chat-1")["weight"], 1)

    def test_kill_switch(self):
        self.page.run(f"document.getElementById('adaptive').click(); {CONFIRM}")
        self.page.wait(NO_DIALOG)
        self.assertFalse(self.stage.get("/api/status")["adaptive"])
        self.page.wait("document.getElementById('adaptive')"
                       ".getAttribute('aria-checked') === 'false'")
        self.clean()


class Many(Page):
    targets = 200

    def test_they_are_sorted_filtered_and_unfolded(self):
        self.assertEqual(self.page.run(f"{ROWS}.length"), 25)
        self.page.run("document.querySelector('#more-targets button').click()")
        self.assertEqual(self.page.run(f"{ROWS}.length"), 211)
        names = self.page.run(f"[...{ROWS}].map(row => row.dataset.target)"
                              ".filter(name => name.startsWith('chat'))")
        self.assertEqual(names, [f"chat-{i}" for i in range(1, 201)])
        self.page.run("const filter = document.getElementById('filter');"
                      "filter.value = 'chat-19';"
                      "filter.dispatchEvent(new Event('input'))")
        self.assertEqual(self.page.run(f"{ROWS}.length"), 11)
        self.page.run("[...document.querySelectorAll('th button')]"
                      ".find(head => head.textContent === 'Target').click()")
        self.assertEqual(self.page.run(f"{ROWS}[0].dataset.target"),
                         "chat-199")
        self.clean()


if __name__ == "__main__":
    os.environ.setdefault("LANG", "C.UTF-8")
    unittest.main()

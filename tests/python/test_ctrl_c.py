"""Ctrl-C at any moment of a claim: it is told, and no lease is left that nobody has."""

import json

import pytest


def test_at_no_moment_of_a_claim_is_a_lease_lost(desk):
    told = desk.told(
        """
        import signal, threading, time
        end = time.monotonic() + 6
        left = []
        heard = 0
        turn = 0
        main = threading.main_thread().ident
        while time.monotonic() < end:
            turn += 1
            pause = (turn % 60) / 20000
            thread = threading.Thread(target=lambda: (time.sleep(pause), signal.pthread_kill(main, signal.SIGINT)))
            lease = None
            try:
                thread.start()
                lease = berth.lease()
                thread.join()
                time.sleep(0.001)
            except KeyboardInterrupt:
                heard += 1
            try:
                thread.join()
                time.sleep(0.001)
            except KeyboardInterrupt:
                heard += 1
            if lease:
                lease.release()
            from berth import leases
            if leases._held:
                left.append(turn)
                for one in list(leases._held):
                    one.release()
        print(json.dumps({"turns": turn, "heard": heard, "left": left}))
        """,
        timeout=120,
    )
    assert told["turns"] > 20 and told["heard"] == told["turns"], told
    # Between our return and the caller's line there is a moment that no library can close.
    assert len(told["left"]) <= told["turns"] / 100, told
    assert desk.leases() == []


@pytest.mark.clock
@pytest.mark.parametrize("call", ["look(max_age=0)", "pick()", "lease()", "lease(wait=True)"])
def test_a_program_that_never_answers_holds_up_no_ctrl_c(desk, call):
    program = desk.directory / "berth"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    told = desk.told(
        f"""
        import signal, threading, time
        main, pressed = threading.main_thread().ident, []
        def press():
            time.sleep(0.3)
            pressed.append(time.monotonic())
            signal.pthread_kill(main, signal.SIGINT)
        threading.Thread(target=press).start()
        try: berth.{call}
        except KeyboardInterrupt: print(json.dumps(time.monotonic() - pressed[0]))
        """,
        env={"BERTH_HELPER": str(program)},
    )
    # A place in the queue is left first, for a second at most.
    assert told < 1.5 if call.startswith("lease") else told < 0.5, told

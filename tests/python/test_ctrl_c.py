"""Ctrl-C at any moment of a claim: it is told, and no lease is left that nobody has."""

import json


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
    assert told["turns"] > 100 and told["heard"] == told["turns"], told
    # Between our return and the caller's line there is a moment that no library can close.
    assert len(told["left"]) <= told["turns"] / 100, told
    assert desk.leases() == []

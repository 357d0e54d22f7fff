/* Charges the account (guard/account.h).
 *
 * A charge is tentatively added to the process's slot, and then compared. So two that ask at once
 * see each other: both may draw back and try again, and never are both granted. */

#define _GNU_SOURCE
#include <time.h>

#include "guard/shim/guard.h"

enum { patience = 24 }; /* waits for others' tentative charges: 0.2 s in all, then it is refused */

struct sum {
  uint64_t bytes;
  bool is_tentative; /* some of it may be taken back */
};

/* The account's words, shared with other processes. */
static uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static void add(uint64_t* word, uint64_t value) {
  __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

static struct sum sum_of(const struct process* here, int device) {
  uint64_t used = load(&here->account->slots_used);
  if (used > BERTH_ACCOUNT_SLOTS) used = BERTH_ACCOUNT_SLOTS;
  struct sum sum = {.bytes = load(&here->account->results[device].unseen_bytes)};
  for (uint64_t i = 0; i < used; ++i) {
    const uint64_t word = load(&here->account->slots[i].charged[device]);
    sum.bytes += BERTH_ACCOUNT_BYTES(word);
    sum.is_tentative = sum.is_tentative || word >= BERTH_ACCOUNT_TENTATIVE;
  }
  return sum;
}

/* While others free and allocate, one pass may count the same memory in two slots. */
static struct sum settled_sum_of(const struct process* here, int device) {
  struct sum sum = sum_of(here, device);
  for (int tries = 0; tries < 100; ++tries) {
    const struct sum again = sum_of(here, device);
    if (again.bytes == sum.bytes && again.is_tentative == sum.is_tentative) break;
    sum = again;
  }
  return sum;
}

static bool fits(uint64_t charged, uint64_t bytes, uint64_t limit) {
  return limit == 0 || (charged <= limit && bytes <= limit - charged);
}

static void note_highest(struct process* here, int device, uint64_t total) {
  uint64_t* highest = &here->account->results[device].highest_bytes;
  uint64_t known = load(highest);
  while (known < total && !__atomic_compare_exchange_n(highest, &known, total, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* Longer each time, and not as long as another thread that waits. */
static void wait_for_others(int tries) {
  const uint64_t longest = UINT64_C(2000) << (tries < 13 ? tries : 13); /* ns */
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  const uint64_t chance =
      ((uint64_t)moment.tv_nsec ^ (uintptr_t)&moment) * UINT64_C(0x9e3779b97f4a7c15);
  const struct timespec pause = {.tv_nsec = (long)(longest / 2 + (chance >> 32) % longest)};
  nanosleep(&pause, NULL);
}

static bool refused(struct process* here, int device) {
  add(&here->account->results[device].refusals, 1);
  return false;
}

bool charge(int device, uint64_t bytes) {
  struct process* here = device < 0 ? NULL : process();
  if (here == NULL || bytes == 0) return true;
  const uint64_t limit = limit_of(device);
  if (bytes >= BERTH_ACCOUNT_TENTATIVE / 2) return refused(here, device);
  uint64_t* mine = &here->slot->charged[device];
  bool has_looked = false;
  for (int tries = 0; tries < patience; ++tries) {
    struct sum sum = sum_of(here, device);
    if (fits(sum.bytes, bytes, limit)) {
      add(mine, BERTH_ACCOUNT_TENTATIVE + bytes);
      sum = sum_of(here, device);
      if (fits(sum.bytes, 0, limit)) {
        add(mine, -BERTH_ACCOUNT_TENTATIVE);
        note_highest(here, device, sum.bytes);
        return true;
      }
      add(mine, -(BERTH_ACCOUNT_TENTATIVE + bytes));
    } else if (!has_looked) {
      has_looked = true;
      look_at_pools();
      reap(here);
      continue;
    } else {
      sum = settled_sum_of(here, device);
      if (!sum.is_tentative) {
        if (!fits(sum.bytes, bytes, limit)) return refused(here, device);
        continue;
      }
    }
    wait_for_others(tries);
  }
  return refused(here, device);
}

void charge_what_is_taken(int device, uint64_t bytes) {
  struct process* here = device < 0 || bytes == 0 ? NULL : process();
  if (here == NULL) return;
  add(&here->slot->charged[device], bytes);
  note_highest(here, device, sum_of(here, device).bytes);
}

void refund(int device, uint64_t bytes) {
  struct process* here = device < 0 || bytes == 0 ? NULL : process();
  if (here != NULL) add(&here->slot->charged[device], -bytes);
}

uint64_t total_charged(int device) {
  struct process* here = process();
  if (here == NULL) return 0;
  look_at_pools();
  reap(here);
  return settled_sum_of(here, device).bytes;
}

uint64_t limit_of(int device) {
  const struct process* here = device < 0 ? NULL : process();
  return here == NULL ? 0 : here->header->devices[device].limit_bytes;
}

uint64_t context_bytes_of(int device) {
  const struct process* here = device < 0 ? NULL : process();
  return here == NULL ? 0 : here->header->devices[device].context_bytes;
}

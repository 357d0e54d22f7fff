#pragma once
/* The account of a run's device memory: one file per run. berth makes it before the job starts, and
 * each process of the job maps it (shim/charge.c). It is C11 and C++, 64-bit words without
 * pointers, the same for every process of the machine.
 *
 * There is no shared total that a killed process could leave wrong. Each process adds to a slot of
 * its own, and a total is the sum over the slots. So the memory of a killed process is given back
 * by emptying its slot.
 *
 * Who makes it allocates all its blocks (posix_fallocate): a full disk would else be a SIGBUS in
 * the job. Mode 0600, and never truncated. */

#include <stddef.h>
#include <stdint.h>

#define BERTH_ACCOUNT_MAGIC UINT64_C(0x4d454d4854524542) /* "BERTHMEM" */
#define BERTH_ACCOUNT_VERSION UINT64_C(1)
enum {
  BERTH_ACCOUNT_DEVICES = 16, /* of a lease */
  BERTH_ACCOUNT_SLOTS = 1024, /* processes at a time; one more is not charged */
  BERTH_ACCOUNT_PAGE = 65536  /* the largest page that a kernel protects by */
};

/* What berth says, and processes map read-only. */
struct berth_account_device {
  uint8_t uuid[16];       /* of the GPU, or of the MIG instance, as the driver numbers it */
  uint64_t limit_bytes;   /* 0: no limit */
  uint64_t context_bytes; /* what one context is expected to take */
};

struct berth_account_header {
  uint64_t magic;
  uint64_t version;
  uint64_t file_bytes; /* sizeof(struct berth_account) */
  uint64_t device_count;
  struct berth_account_device devices[BERTH_ACCOUNT_DEVICES];
};

/* What processes and the sampler say; written atomically. */
struct berth_account_result {
  uint64_t highest_bytes; /* the highest total that was granted, with unseen_bytes */
  uint64_t refusals;      /* allocations refused at the limit */
  /* What the driver's sum has been above the charges for some looks (run/shim_watch.cc): modules,
   * and contexts larger than expected. It counts beside the charges. The driver's sum itself would
   * be a second old when a program frees and allocates again, and refuse what fits. */
  uint64_t unseen_bytes;
  uint64_t reserved[5];
};

/* A word of charged[]: bytes in the lower 48 bits; above, how many allocations are about to be
 * granted or refused. Those may still leave the sum. */
#define BERTH_ACCOUNT_TENTATIVE (UINT64_C(1) << 48)
#define BERTH_ACCOUNT_BYTES(word) ((word) & (BERTH_ACCOUNT_TENTATIVE - 1))

struct berth_account_slot {
  uint64_t pid;           /* 0: free; BERTH_ACCOUNT_EMPTYING: between the two */
  uint64_t start_time;    /* field 22 of /proc/PID/stat; 0: being taken */
  uint64_t pid_namespace; /* inode of /proc/PID/ns/pid: the pid means nothing elsewhere */
  uint64_t reserved[5];
  uint64_t charged[BERTH_ACCOUNT_DEVICES]; /* as header.devices */
};
#define BERTH_ACCOUNT_EMPTYING UINT64_MAX

struct berth_account {
  struct berth_account_header header;
  uint8_t header_page[BERTH_ACCOUNT_PAGE - sizeof(struct berth_account_header)];
  struct berth_account_result results[BERTH_ACCOUNT_DEVICES];
  uint64_t slots_used; /* slots before it have been taken at least once */
  uint8_t results_page[BERTH_ACCOUNT_PAGE - sizeof(uint64_t) -
                       BERTH_ACCOUNT_DEVICES * sizeof(struct berth_account_result)];
  struct berth_account_slot slots[BERTH_ACCOUNT_SLOTS];
};

#ifdef __cplusplus
#define BERTH_ACCOUNT_ASSERT static_assert
#else
#define BERTH_ACCOUNT_ASSERT _Static_assert
#endif
BERTH_ACCOUNT_ASSERT(sizeof(struct berth_account_device) == 32, "the layout is fixed");
BERTH_ACCOUNT_ASSERT(sizeof(struct berth_account_slot) == 192, "whole cache lines");
BERTH_ACCOUNT_ASSERT(offsetof(struct berth_account, results) == BERTH_ACCOUNT_PAGE, "page 1");
BERTH_ACCOUNT_ASSERT(offsetof(struct berth_account, slots) == 2 * BERTH_ACCOUNT_PAGE, "page 2");
BERTH_ACCOUNT_ASSERT(sizeof(struct berth_account) % BERTH_ACCOUNT_PAGE == 0, "whole pages");

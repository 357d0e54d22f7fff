#ifndef BERTH_BERTH_H
#define BERTH_BERTH_H
/* libberth: which GPUs are there, and one of them for this process, which nobody else is given.
 *
 *   berth_context* berth = NULL;
 *   berth_lease* lease = NULL;
 *   berth_request request = BERTH_INIT(berth_request);   // one whole GPU
 *   berth_error* error = NULL;
 *   if (berth_open(NULL, &berth, &error) == BERTH_OK &&
 *       berth_acquire(berth, &request, &lease, NULL, &error) == BERTH_OK)
 *     berth_lease_apply(lease, &error);                  // shows it alone
 *   else
 *     fprintf(stderr, "%s\n", berth_error_message(error));
 *
 * C99. No call starts a thread, forks, prints, or sets a signal handler. The driver is asked in a
 * helper process (`berth helper`), so that a card that hangs never hangs the caller. Strings are
 * UTF-8 and live as long as the object they came from. Where a call takes a berth_error**, NULL is
 * allowed; a call that fails gives a new error, to be freed by berth_error_free(). A thread that is
 * cancelled within a call ends behind it. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_HEADER_VERSION 0x000200u /* 0xMMmmpp */

typedef struct berth_context berth_context; /* where to look, which ledger: one thread at a time */
typedef struct berth_look berth_look;       /* one look at the machine; it never changes */
typedef struct berth_answer berth_answer;   /* which devices a request gets, or why none */
typedef struct berth_wait berth_wait;       /* a place in the queue */
typedef struct berth_lease berth_lease;     /* devices that are this process's */
typedef struct berth_error berth_error;

typedef enum {
  BERTH_OK = 0,
  BERTH_E_NOT_FOUND,     /* no such thing; no `berth` program was found */
  BERTH_E_UNSUPPORTED,   /* this machine, program or library cannot do it */
  BERTH_E_NO_PERMISSION, /* another user's */
  BERTH_E_BUSY,          /* somebody else holds it now */
  BERTH_E_INVALID,       /* what was asked for makes no sense */
  BERTH_E_TIMEOUT,       /* it took too long */
  BERTH_E_IO,            /* the system said no */
  BERTH_E_NONE_FREE,     /* no device is free now: the answer says why */
  BERTH_E_NEVER,         /* this machine never has such devices */
  BERTH_E_CUDA_STARTED,  /* CUDA has read its variables already */
  BERTH_E_NO_MEMORY,
  BERTH_E_BUG /* a mistake in berth */
} berth_code;

/* What was attempted, on what, what the system said, what to try. Of NULL: "". */
const char* berth_error_message(const berth_error* error);
berth_code berth_error_code(const berth_error* error); /* of NULL: BERTH_OK */
void berth_error_free(berth_error* error);

uint32_t berth_version(void);         /* of the library, as BERTH_HEADER_VERSION */
const char* berth_version_text(void); /* "0.2.0" */

/* A struct begins with its size, so that newer and older ones work. The library writes no further.
 * What a newer struct asks beyond what this library knows must be 0, else BERTH_E_INVALID. */
#ifdef __cplusplus
#define BERTH_INIT(type)              \
  ([] {                               \
    type sized = {};                  \
    sized.struct_size = sizeof(type); \
    return sized;                     \
  }())
#else
#define BERTH_INIT(type) {.struct_size = sizeof(type)}
#endif

/* A reading: a value, or why there is none. */
typedef enum {
  BERTH_PRESENT = 0,
  BERTH_ABSENT_UNSUPPORTED, /* this kind of device has no such reading */
  BERTH_ABSENT_NO_PERMISSION,
  BERTH_ABSENT_FAILED,     /* this time */
  BERTH_ABSENT_NOT_SAMPLED /* nobody asked, or a rate lacks its second sample */
} berth_absent;
typedef struct {
  uint64_t value;
  int32_t absent; /* berth_absent */
  uint32_t zero;
} berth_u64;
typedef struct {
  double value;
  int32_t absent; /* berth_absent */
  uint32_t zero;
} berth_f64;

/* --- where to look ------------------------------------------------------------------------- */

typedef enum { BERTH_FROM_SERVE = 1, BERTH_FROM_HELPER = 2 } berth_source;

typedef struct {
  size_t struct_size;
  const char* sim;     /* a simulated server (`berth scenarios`); NULL: BERTH_SIM, else none */
  const char* replay;  /* a recording; nothing can be leased of it */
  const char* ledger;  /* its directory; NULL: as `berth run` chooses */
  const char* helper;  /* the berth program; NULL: BERTH_HELPER, beside the library, PATH */
  uint32_t max_age_ms; /* of a look of `berth serve` that is taken; 0: 2000 */
  uint32_t sources;    /* of berth_source; 0: both */
  /* Hears sentences for people within calls. It returns: it neither throws nor ends its thread. */
  void (*on_note)(void* user, const char* text);
  void* user;
} berth_options;

/* Starts nothing yet. `options` may be NULL. */
berth_code berth_open(const berth_options* options, berth_context** context, berth_error** error);
/* Its looks, answers, waits and leases live on. */
void berth_close(berth_context* context);
/* The program that this library asks, for callers that run one of its verbs. NULL: none found. */
const char* berth_program(berth_context* context);
/* A new connection to `berth serve`'s socket, for HTTP; it does not block, and is yours to close.
 * Only a server of root's or of this user's is taken. BERTH_E_NOT_FOUND: there is none. */
berth_code berth_serve_connect(berth_context* context, int* fd, berth_error** error);

/* --- looking ------------------------------------------------------------------------------- */

typedef enum {
  BERTH_STATE,      /* what berth_device and berth_process have: no more is read, or written */
  BERTH_EVERYTHING, /* every field of doc/METRICS.md */
  BERTH_DETAILS,    /* and what `berth status --json` has beyond them */
  BERTH_LISTS       /* and lists: retired pages, NVLinks, … */
} berth_depth;

/* What a device is to a caller who wants one (doc/METRICS.md, `state`). */
typedef enum {
  BERTH_FREE,
  BERTH_RESERVED, /* free, but for somebody in the queue */
  BERTH_LEASED,
  BERTH_BUSY, /* without a lease */
  BERTH_HELD, /* memory is taken and nothing runs */
  BERTH_UNKNOWN,
  BERTH_FAILED,
  BERTH_DIVIDED, /* by MIG: its instances are what a job is given */
  BERTH_LOST,
  BERTH_UNUSABLE
} berth_state;

typedef struct {
  size_t struct_size;
  int32_t index; /* -1: it has none now (lost) */
  int32_t state; /* berth_state */
  const char* id;
  const char* name;      /* "" where it cannot be read */
  const char* pci;       /* "" */
  const char* state_why; /* of a failed or unusable device; else "" */
  const char* users;     /* who is on it or holds it, "alice, bob"; "" */
  berth_u64 memory_total_bytes, memory_used_bytes, memory_free_bytes;
  berth_u64 power_draw_milliwatts;
  berth_u64 temperature_celsius;
  berth_f64 utilization_percent;        /* share of time in which any kernel ran */
  int32_t compute_major, compute_minor; /* 0.0: not told */
  uint64_t cuda_cores;                  /* from the table of cards; 0: not in it */
  int32_t visible_ordinal; /* cuda:N (xpu:N, npu:N) in this process; -1: hidden; -2: not known, as
                            * where a list counts different cards and CUDA_DEVICE_ORDER is not
                            * PCI_BUS_ID */
  int32_t memory_used_is_bound; /* 1: at least so much is used (Intel) */
  const char* kind;             /* "nvidia-gpu", "amd-gpu", … (doc/METRICS.md, `kind`) */
  const char* torch_type;       /* "cuda", "xpu", … before PyTorch's number; "": not known */
} berth_device;

typedef struct {
  size_t struct_size;
  int32_t device;        /* its place in the look; -1: none of those listed */
  int32_t pid;           /* as the driver tells it */
  const char* user;      /* "": cannot be seen */
  const char* command;   /* masked; "" */
  const char* run;       /* of `berth run` or a lease; "" */
  const char* container; /* "" */
  berth_u64 memory_bytes;
  int32_t mine; /* 1: this process or one of its descendants */
  int32_t zero;
} berth_process;

/* A look, at most max_age_ms old where `berth serve` has one, else taken now by the helper. That
 * takes 0.1 to 5 ms, and 5 s where a card hangs. The look then has it as absent, with a problem. */
berth_code berth_look_now(berth_context* context, uint32_t depth, berth_look** look,
                          berth_error** error);
/* The same in steps, always by the helper: poll `fd` for reading at most `due_ms`, then advance. No
 * look yet: poll again. `fd` is the same to the end. One question in steps at a time. */
berth_code berth_look_begin(berth_context* context, uint32_t depth, int* fd, int* due_ms,
                            berth_error** error);
berth_code berth_look_advance(berth_context* context, berth_look** look, int* due_ms,
                              berth_error** error);
size_t berth_look_devices(const berth_look* look);
berth_code berth_look_device(const berth_look* look, size_t at, berth_device* device);
size_t berth_look_processes(const berth_look* look);
berth_code berth_look_process(const berth_look* look, size_t at, berth_process* process);
/* One field of all devices by its key in doc/METRICS.md: values[i], or absent[i] of berth_absent.
 * `room`: how many fit. BERTH_E_INVALID: no such field, or it is no number. */
berth_code berth_look_column(const berth_look* look, const char* key, double* values,
                             uint8_t* absent, size_t room, berth_error** error);
/* Milliseconds since 1970 at which it was taken. */
int64_t berth_look_taken_unix_ms(const berth_look* look);
/* The look, as `berth status --json` prints it (doc/FORMATS.md, Snapshot); of BERTH_STATE, devices
 * and processes have what berth_device and berth_process have alone. */
const char* berth_look_json(const berth_look* look);
void berth_look_free(berth_look* look);

/* --- choosing, claiming, waiting ----------------------------------------------------------- */

typedef struct {
  size_t struct_size;
  int32_t devices;    /* 0: 1 */
  int32_t after_init; /* 1: after CUDA has started claim among what it sees, and set nothing */
  const char* memory; /* of each: "10G", "50%"; NULL: whole devices, alone */
  const char* only;   /* "0,2", "*H100*", UUIDs */
  const char* except;
  const char* prefer;      /* "best-fit", "most-free", "spread" or a list */
  const char* min_compute; /* "8.0" */
  const char* need;        /* "bf16,fp8" */
  const char* idle_for;    /* "10m" */
  const char* name;        /* of the run, for people */
  int32_t record;          /* 1: with a record, as `berth run` has one */
  int32_t zero;
  const char* kind; /* of which maker: "nvidia", "amd"; to be said where there are several */
} berth_request;

/* Which devices the request would get; claims nothing. `request` may be NULL: one whole device. */
berth_code berth_pick(berth_context* context, const berth_request* request, berth_answer** answer,
                      berth_error** error);
/* The same in steps, as berth_look_begin(). */
berth_code berth_pick_begin(berth_context* context, const berth_request* request, int* fd,
                            int* due_ms, berth_error** error);
berth_code berth_pick_advance(berth_context* context, berth_answer** answer, int* due_ms,
                              berth_error** error);
int berth_answer_satisfied(const berth_answer* answer);
int berth_answer_possible(const berth_answer* answer); /* 0: not even when the machine is idle */
/* As `berth pick --json` prints it (doc/FORMATS.md, Placement). */
const char* berth_answer_json(const berth_answer* answer);
void berth_answer_free(berth_answer* answer);

/* A lease now, or BERTH_E_NONE_FREE or _NEVER with *why_not, which may be NULL. Looks afresh.
 * BERTH_E_BUSY: BERTH_LEASE names a lease that this process holds: take all devices at once. */
berth_code berth_acquire(berth_context* context, const berth_request* request, berth_lease** lease,
                         berth_answer** why_not, berth_error** error);
/* Takes a place in the queue; wait_ms -1: as long as it takes. Poll berth_wait_fd() for reading,
 * then step. BERTH_OK without a lease: poll on. BERTH_E_NONE_FREE: the time is over, which the
 * descriptor tells as well. It is the same from begin to end. */
berth_code berth_wait_begin(berth_context* context, const berth_request* request, int64_t wait_ms,
                            berth_wait** wait, berth_error** error);
int berth_wait_fd(const berth_wait* wait);
berth_code berth_wait_step(berth_wait* wait, berth_lease** lease, berth_error** error);
/* What those who wait are told: {"position", "waited_ms", "placement"}; "" before the first. Once
 * nothing came: why, with position 0. */
const char* berth_wait_news_json(const berth_wait* wait);
void berth_wait_free(berth_wait* wait); /* leaves the queue */
/* Leaves it and tells when others see that, half a second later at most: poll and step on until
 * BERTH_E_NOT_FOUND. */
berth_code berth_wait_leave(berth_wait* wait, berth_error** error);

/* --- a lease ------------------------------------------------------------------------------- */

const char* berth_lease_id(const berth_lease* lease);
const char* berth_lease_run(const berth_lease* lease); /* the run's id */
size_t berth_lease_devices(const berth_lease* lease);
/* A device as it was when it was claimed. Its visible_ordinal is cuda:N once the lease is applied;
 * with after_init, as this process sees it now. */
berth_code berth_lease_device(const berth_lease* lease, size_t at, berth_device* device);
/* What a program is to have in its environment to use the lease: its maker's variable and more.
 * Without a lease (NULL): what keeps it off all devices. */
size_t berth_lease_variables(const berth_lease* lease);
const char* berth_lease_variable(const berth_lease* lease, size_t at, const char** value);
/* Sets them in this process. BERTH_E_CUDA_STARTED: too late; nothing was set. */
berth_code berth_lease_apply(berth_lease* lease, berth_error** error);
/* The descriptor that keeps the lease, close-on-exec: give it to a program that is to keep it. */
int berth_lease_fd(const berth_lease* lease);
/* Ends the lease, also for processes that inherited it, and takes back what berth_lease_apply()
 * set. In a forked child it is only forgotten. */
berth_code berth_lease_free(berth_lease* lease, berth_error** error);
/* For the end of a program: the lease lasts until the last process that inherited its descriptor
 * has ended, as it does after a kill. */
berth_code berth_lease_let_go(berth_lease* lease, berth_error** error);

/* --- this process -------------------------------------------------------------------------- */

typedef enum {
  BERTH_CUDA_NOT_LOADED,
  BERTH_CUDA_NOT_STARTED, /* a variable that is set now still counts */
  BERTH_CUDA_STARTED,
  BERTH_CUDA_INHERITED /* this process was forked by one where CUDA had started */
} berth_cuda;
/* Asks the driver's library without starting it. */
berth_cuda berth_cuda_state(void);

/* Notes a line of progress in the run's record. BERTH_E_NOT_FOUND: this is no run. */
berth_code berth_mark(const char* text, berth_error** error);

#ifdef __cplusplus
}
#endif
#endif

/* A program with libberth in it, as the tests need one: `host VERB`. It prints only what a verb is
 * asked for. If something is not as it must be, it says so and exits with 1.
 */
#include <berth/berth.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(claim) expect((claim) ? 1 : 0, #claim, __LINE__)
#define OK(call) ok((call), #call, __LINE__)

static berth_error* error = NULL; /* of the last call that was given it */

static void expect(int holds, const char* claim, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: not so: %s (the last error: %s)\n", line, claim,
          berth_error_message(error));
  exit(1);
}

static void ok(berth_code code, const char* call, int line) {
  if (code == BERTH_OK) return;
  fprintf(stderr, "line %d: %s: %s\n", line, call, berth_error_message(error));
  exit(1);
}

static berth_context* opened(void) {
  berth_context* context = NULL;
  OK(berth_open(NULL, &context, &error));
  EXPECT(context != NULL && error == NULL);
  return context;
}

static void look_once(berth_context* context) {
  berth_look* look = NULL;
  OK(berth_look_now(context, BERTH_STATE, &look, &error));
  EXPECT(berth_look_devices(look) > 0);
  berth_look_free(look);
}

static berth_lease* acquired(berth_context* context) {
  berth_request request = BERTH_INIT(berth_request);
  berth_lease* lease = NULL;
  OK(berth_acquire(context, &request, &lease, NULL, &error));
  EXPECT(lease != NULL);
  return lease;
}

static int32_t state_of(berth_context* context, const char* id) {
  berth_look* look = NULL;
  int32_t state = -1;
  size_t at;
  OK(berth_look_now(context, BERTH_STATE, &look, &error));
  for (at = 0; at < berth_look_devices(look); ++at) {
    berth_device device = BERTH_INIT(berth_device);
    OK(berth_look_device(look, at, &device));
    if (strcmp(device.id, id) == 0) state = device.state;
  }
  berth_look_free(look);
  return state;
}

static void id_of_first(const berth_lease* lease, char* id, size_t room) {
  berth_device device = BERTH_INIT(berth_device);
  OK(berth_lease_device(lease, 0, &device));
  EXPECT(strlen(device.id) < room);
  snprintf(id, room, "%s", device.id);
}

/* Tells the test that a point is reached, and waits until it says go on. */
static void pause_at(const char* point) {
  char byte;
  EXPECT(write(1, point, strlen(point)) > 0 && write(1, "\n", 1) == 1);
  EXPECT(read(0, &byte, 1) == 1);
}

/* --- every call ----------------------------------------------------------------------------------
 */

static void looks(berth_context* context) {
  static const uint32_t depths[] = {BERTH_STATE, BERTH_EVERYTHING, BERTH_DETAILS, BERTH_LISTS};
  double values[64];
  uint8_t absent[64];
  berth_look* look = NULL;
  size_t at;
  int fd = -1;
  int due = 0;
  for (at = 0; at < sizeof(depths) / sizeof(depths[0]); ++at) {
    berth_device device = BERTH_INIT(berth_device);
    berth_process process = BERTH_INIT(berth_process);
    OK(berth_look_now(context, depths[at], &look, &error));
    OK(berth_look_device(look, 0, &device));
    EXPECT(device.id[0] != '\0' && device.memory_total_bytes.absent == BERTH_PRESENT);
    EXPECT(berth_look_device(look, 64, &device) == BERTH_E_NOT_FOUND ||
           berth_look_device(look, 64, &device) == BERTH_E_INVALID);
    EXPECT(berth_look_processes(look) > 0);
    OK(berth_look_process(look, 0, &process));
    OK(berth_look_column(look, "memory_total_bytes", values, absent, 64, &error));
    EXPECT(absent[0] == BERTH_PRESENT && values[0] > 0);
    EXPECT(berth_look_column(look, "no_such_field", values, absent, 64, NULL) == BERTH_E_INVALID);
    EXPECT(berth_look_column(look, "memory_total_bytes", values, absent, 1, NULL) ==
               BERTH_E_INVALID ||
           absent[0] == BERTH_PRESENT);
    EXPECT(berth_look_taken_unix_ms(look) > 0 && berth_look_json(look)[0] == '{');
    berth_look_free(look);
  }
  OK(berth_look_begin(context, BERTH_STATE, &fd, &due, &error));
  for (look = NULL; look == NULL;) {
    struct pollfd ready = {fd, POLLIN, 0};
    (void)poll(&ready, 1, due);
    OK(berth_look_advance(context, &look, &due, &error));
  }
  berth_look_free(look);
}

static void answers(berth_context* context) {
  berth_request request = BERTH_INIT(berth_request);
  berth_answer* answer = NULL;
  berth_look* look = NULL;
  berth_lease* lease = NULL;
  int fd = -1;
  int due = 0;
  OK(berth_pick_begin(context, NULL, &fd, &due, &error));
  EXPECT(berth_look_begin(context, BERTH_STATE, &fd, &due, NULL) == BERTH_E_BUSY);
  EXPECT(berth_look_advance(context, &look, &due, NULL) == BERTH_E_INVALID);
  while (answer == NULL) {
    struct pollfd ready = {fd, POLLIN, 0};
    (void)poll(&ready, 1, due);
    OK(berth_pick_advance(context, &answer, &due, &error));
  }
  EXPECT(berth_answer_satisfied(answer));
  berth_answer_free(answer);
  OK(berth_pick(context, NULL, &answer, &error));
  EXPECT(berth_answer_satisfied(answer) && berth_answer_possible(answer));
  EXPECT(berth_answer_json(answer)[0] == '{');
  berth_answer_free(answer);
  answer = NULL;
  request.devices = 9;
  EXPECT(berth_acquire(context, &request, &lease, &answer, &error) == BERTH_E_NEVER);
  EXPECT(lease == NULL && answer != NULL && !berth_answer_possible(answer));
  EXPECT(berth_error_code(error) == BERTH_E_NEVER && berth_error_message(error)[0] != '\0');
  berth_error_free(error);
  error = NULL;
  berth_answer_free(answer);
}

static void leases(berth_context* context) {
  berth_lease* lease = acquired(context);
  const char* value = NULL;
  size_t at;
  int has_cuda = 0;
  char id[128];
  EXPECT(berth_lease_id(lease)[0] != '\0' && berth_lease_run(lease)[0] != '\0');
  EXPECT(berth_lease_devices(lease) == 1);
  id_of_first(lease, id, sizeof(id));
  EXPECT(state_of(context, id) == BERTH_LEASED);
  for (at = 0; at < berth_lease_variables(lease); ++at) {
    const char* name = berth_lease_variable(lease, at, &value);
    if (strcmp(name, "CUDA_VISIBLE_DEVICES") == 0) has_cuda = 1;
    EXPECT(name[0] != '\0' && value != NULL);
  }
  EXPECT(has_cuda && getenv("CUDA_VISIBLE_DEVICES") == NULL);
  EXPECT(berth_lease_fd(lease) >= 100);
  EXPECT((fcntl(berth_lease_fd(lease), F_GETFD) & FD_CLOEXEC) != 0);
  OK(berth_lease_apply(lease, &error));
  EXPECT(getenv("CUDA_VISIBLE_DEVICES") != NULL);
  OK(berth_lease_free(lease, &error));
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("BERTH_LEASE");
  unsetenv("BERTH_RUN");
  EXPECT(state_of(context, id) == BERTH_FREE);
}

static void waits(berth_context* context) {
  berth_request request = BERTH_INIT(berth_request);
  berth_lease* lease = NULL;
  berth_wait* wait = NULL;
  OK(berth_wait_begin(context, &request, -1, &wait, &error));
  while (lease == NULL) {
    struct pollfd ready = {berth_wait_fd(wait), POLLIN, 0};
    (void)poll(&ready, 1, -1);
    OK(berth_wait_step(wait, &lease, &error));
    EXPECT(berth_wait_news_json(wait) != NULL);
  }
  EXPECT(berth_wait_leave(wait, NULL) == BERTH_E_INVALID); /* it is over */
  berth_wait_free(wait);
  OK(berth_lease_free(lease, &error));
}

static void every_call(void) {
  berth_context* context;
  EXPECT(berth_version() == BERTH_HEADER_VERSION && berth_version_text()[0] == '0');
  EXPECT(berth_error_code(NULL) == BERTH_OK && berth_error_message(NULL)[0] == '\0');
  berth_error_free(NULL);
  context = opened();
  int fd = -1;
  EXPECT(berth_program(context) != NULL);
  EXPECT(berth_serve_connect(context, &fd, NULL) == BERTH_E_NOT_FOUND && fd == -1);
  looks(context);
  answers(context);
  leases(context);
  waits(context);
  EXPECT(berth_cuda_state() == BERTH_CUDA_NOT_LOADED);
  EXPECT(berth_mark("epoch=1", NULL) == BERTH_E_NOT_FOUND);
  berth_close(context);
}

/* NULL where an object stands is a mistake of the caller that ends nothing. */
static void nulls(void) {
  berth_context* context = opened();
  berth_device device = BERTH_INIT(berth_device);
  berth_look* look = NULL;
  berth_look_free(NULL);
  berth_answer_free(NULL);
  berth_wait_free(NULL);
  EXPECT(berth_lease_free(NULL, NULL) == BERTH_OK);
  berth_close(NULL);
  EXPECT(berth_open(NULL, NULL, NULL) == BERTH_E_INVALID);
  EXPECT(berth_look_now(NULL, BERTH_STATE, &look, NULL) == BERTH_E_INVALID);
  EXPECT(berth_look_now(context, BERTH_STATE, NULL, NULL) == BERTH_E_INVALID);
  OK(berth_look_now(context, BERTH_STATE, &look, &error));
  EXPECT(berth_look_device(look, 0, NULL) == BERTH_E_INVALID);
  EXPECT(berth_look_device(NULL, 0, &device) == BERTH_E_INVALID);
  berth_look_free(look);
  berth_close(context);
}

/* --- structs of another release ------------------------------------------------------------------
 */

/* An older struct ends where it ended then: nothing is written behind it, nothing asked there. */
static void older_structs(void) {
  berth_context* context = opened();
  berth_look* look = NULL;
  berth_lease* lease = NULL;
  berth_device device;
  berth_process process;
  berth_request request = BERTH_INIT(berth_request);
  OK(berth_look_now(context, BERTH_STATE, &look, &error));

  memset(&device, 0x5a, sizeof(device));
  device.struct_size = offsetof(berth_device, pci);
  OK(berth_look_device(look, 0, &device));
  EXPECT(device.index == 0 && device.name[0] != '\0');
  EXPECT(device.struct_size == offsetof(berth_device, pci));
  for (size_t at = offsetof(berth_device, pci); at < sizeof(device); ++at) {
    EXPECT(((const unsigned char*)&device)[at] == 0x5a);
  }
  memset(&device, 0x5a, sizeof(device));
  device.struct_size = offsetof(berth_device, kind);
  OK(berth_look_device(look, 0, &device));
  EXPECT(((const unsigned char*)&device.kind)[0] == 0x5a);
  device.struct_size = sizeof(device);
  OK(berth_look_device(look, 0, &device));
  EXPECT(strcmp(device.kind, "nvidia-gpu") == 0);
  memset(&process, 0x5a, sizeof(process));
  process.struct_size = offsetof(berth_process, run);
  OK(berth_look_process(look, 0, &process));
  for (size_t at = offsetof(berth_process, run); at < sizeof(process); ++at) {
    EXPECT(((const unsigned char*)&process)[at] == 0x5a);
  }
  berth_look_free(look);

  memset((char*)&request + offsetof(berth_request, except), 0x5a,
         sizeof(request) - offsetof(berth_request, except));
  request.struct_size = offsetof(berth_request, except);
  OK(berth_acquire(context, &request, &lease, NULL, &error));
  OK(berth_lease_free(lease, &error));

  berth_options options; /* without what it says of notes */
  berth_context* other = NULL;
  memset(&options, 0x5a, sizeof(options));
  memset(&options, 0, offsetof(berth_options, on_note));
  options.struct_size = offsetof(berth_options, on_note);
  OK(berth_open(&options, &other, &error));
  look_once(other);
  berth_close(other);

  request.struct_size = 4; /* not even a size */
  EXPECT(berth_acquire(context, &request, &lease, NULL, NULL) == BERTH_E_INVALID);
  berth_close(context);
}

/* A newer one may be longer, and ask for nothing that is not known yet. */
static void newer_structs(void) {
  struct {
    berth_options known;
    uint64_t more[4];
  } options;
  struct {
    berth_request known;
    uint64_t more[4];
  } request;
  struct {
    berth_device known;
    uint64_t more[4];
  } device;
  struct {
    berth_process known;
    uint64_t more[4];
  } process;
  berth_context* context = NULL;
  berth_answer* answer = NULL;
  berth_look* look = NULL;
  memset(&options, 0, sizeof(options));
  memset(&request, 0, sizeof(request));
  memset(&device, 0, sizeof(device));
  options.known.struct_size = sizeof(options);
  request.known.struct_size = sizeof(request);
  device.known.struct_size = sizeof(device);

  OK(berth_open(&options.known, &context, &error));
  OK(berth_pick(context, &request.known, &answer, &error));
  EXPECT(berth_answer_satisfied(answer));
  berth_answer_free(answer);
  OK(berth_look_now(context, BERTH_STATE, &look, &error));
  device.more[3] = 7;
  OK(berth_look_device(look, 0, &device.known));
  EXPECT(device.known.id[0] != '\0' && device.more[3] == 7);
  memset(&process, 0, sizeof(process));
  process.known.struct_size = sizeof(process);
  process.more[0] = 7;
  OK(berth_look_process(look, 0, &process.known));
  EXPECT(process.known.pid > 0 && process.known.user[0] != '\0' && process.more[0] == 7);
  EXPECT(process.known.struct_size == sizeof(process));
  berth_look_free(look);

  request.more[3] = 1;
  EXPECT(berth_pick(context, &request.known, &answer, &error) == BERTH_E_INVALID);
  EXPECT(strstr(berth_error_message(error), "request") != NULL);
  berth_error_free(error);
  error = NULL;
  berth_close(context);
  options.more[0] = 1;
  EXPECT(berth_open(&options.known, &context, &error) == BERTH_E_INVALID);
}

/* --- hosts that are not like others --------------------------------------------------------------
 */

/* As large as a training: a fork would copy the tables of all these pages. */
static void large(void) {
  const size_t size = (size_t)2 << 30;
  char* pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(pages != MAP_FAILED);
  (void)madvise(pages, size, MADV_NOHUGEPAGE);
  memset(pages, 1, size);
  berth_context* context = opened();
  look_once(context);
  OK(berth_lease_free(acquired(context), &error));
  berth_close(context);
  EXPECT(pages[size - 1] == 1);
}

/* What a host that waits for its children meets: never a process of berth's. */
static void no_children(void) {
  const pid_t met = waitpid(-1, NULL, WNOHANG);
  EXPECT(met == -1 && errno == ECHILD);
}

static void waits_for_any_child(void) {
  berth_context* context = opened();
  look_once(context);
  no_children();
  berth_lease* lease = acquired(context);
  no_children();
  OK(berth_lease_free(lease, &error));
  berth_close(context);
  no_children();
}

static void ignores_sigchld(void) {
  EXPECT(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
  waits_for_any_child();
  EXPECT(signal(SIGCHLD, SIG_IGN) == SIG_IGN);
}

static void* reaper(void* stop) {
  while (!*(volatile int*)stop) {
    if (waitpid(-1, NULL, WNOHANG) < 0) (void)poll(NULL, 0, 0);
  }
  return NULL;
}

/* Another thread of the host's takes each child that ends, the library's first one too. */
static void reaps_in_a_thread(void) {
  static volatile int stop = 0;
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, reaper, (void*)&stop) == 0);
  for (int times = 0; times < 5; ++times) {
    berth_context* context = opened();
    look_once(context);
    OK(berth_lease_free(acquired(context), &error));
    berth_close(context);
  }
  stop = 1;
  (void)pthread_join(thread, NULL);
}

/* A daemon: what the library opens must not become anybody's standard output. */
static void without_stdio(void) {
  for (int fd = 0; fd < 3; ++fd) (void)close(fd);
  berth_context* context = opened();
  look_once(context);
  berth_lease* lease = acquired(context);
  int closed = 1;
  for (int fd = 0; fd < 3; ++fd) closed = closed && fcntl(fd, F_GETFD) < 0;
  OK(berth_lease_free(lease, &error));
  berth_close(context);
  exit(closed ? 0 : 3);
}

/* All that was opened is closed again. */
static void leaks_nothing(void) {
  int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
  (void)close(before);
  for (int times = 0; times < 3; ++times) {
    berth_context* context = opened();
    look_once(context);
    OK(berth_lease_free(acquired(context), &error));
    berth_close(context);
  }
  int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT(before == after);
  for (int fd = after + 1; fd < 200; ++fd) EXPECT(fcntl(fd, F_GETFD) < 0);
}

static void helper_is_killed(void) {
  char id[128];
  berth_context* context = opened();
  berth_lease* lease = acquired(context);
  id_of_first(lease, id, sizeof(id));
  pause_at("helper is there");
  look_once(context);
  EXPECT(state_of(context, id) == BERTH_LEASED); /* the lease is this process's */
  OK(berth_lease_free(lease, &error));
  EXPECT(state_of(context, id) == BERTH_FREE);
  berth_close(context);
}

/* The test stops the helper before each question and kills it before it is answered. Another is
 * then asked, and the descriptor that is polled stays the same. */
static void helper_is_killed_in_steps(void) {
  berth_request request = BERTH_INIT(berth_request);
  berth_context* context = opened();
  berth_look* look = NULL;
  berth_answer* answer = NULL;
  berth_wait* wait = NULL;
  berth_lease* lease = NULL;
  int fd = -1;
  int due = 0;
  look_once(context);
  pause_at("before the look");
  OK(berth_look_begin(context, BERTH_STATE, &fd, &due, &error));
  pause_at("looking");
  while (look == NULL) {
    struct pollfd ready = {fd, POLLIN, 0};
    EXPECT(poll(&ready, 1, 20000) == 1);
    OK(berth_look_advance(context, &look, &due, &error));
  }
  berth_look_free(look);
  pause_at("before the choice");
  OK(berth_pick_begin(context, NULL, &fd, &due, &error));
  pause_at("choosing");
  while (answer == NULL) {
    struct pollfd ready = {fd, POLLIN, 0};
    EXPECT(poll(&ready, 1, 20000) == 1);
    OK(berth_pick_advance(context, &answer, &due, &error));
  }
  berth_answer_free(answer);
  pause_at("before the lease");
  OK(berth_wait_begin(context, &request, 0, &wait, &error));
  fd = berth_wait_fd(wait);
  pause_at("leasing");
  while (lease == NULL) {
    struct pollfd ready = {fd, POLLIN, 0};
    EXPECT(poll(&ready, 1, 20000) == 1 && berth_wait_fd(wait) == fd);
    OK(berth_wait_step(wait, &lease, &error));
  }
  berth_wait_free(wait);
  OK(berth_lease_free(lease, &error));
  berth_close(context);
}

static long long milliseconds(void) {
  struct timespec now;
  EXPECT(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Begins and steps through a wait; says how long the longest call took, and how it ended. */
static void steps(void) {
  berth_request request = BERTH_INIT(berth_request);
  berth_context* context = opened();
  berth_wait* wait = NULL;
  berth_lease* lease = NULL;
  long long longest = 0;
  berth_code code = BERTH_OK;
  for (long long begun = milliseconds(); lease == NULL && code == BERTH_OK;
       begun = milliseconds()) {
    code = wait == NULL ? berth_wait_begin(context, &request, -1, &wait, &error)
                        : berth_wait_step(wait, &lease, &error);
    if (milliseconds() - begun > longest) longest = milliseconds() - begun;
    if (code != BERTH_OK || lease != NULL) break;
    struct pollfd ready = {berth_wait_fd(wait), POLLIN, 0};
    (void)poll(&ready, 1, -1);
  }
  printf("%lld %d %s\n", longest, (int)code, berth_error_message(error));
  berth_wait_free(wait);
  OK(berth_lease_free(lease, &error));
  berth_close(context);
}

/* --- threads that end ----------------------------------------------------------------------------
 */

static berth_lease* held = NULL;

static void* leases_for_ever(void* given) {
  for (;;) {
    (void)berth_acquire(given, NULL, &held, NULL, NULL);
    (void)berth_lease_free(held, NULL);
    held = NULL;
    pthread_testcancel();
  }
  return given;
}

/* A thread that is cancelled at any moment leaves no lease that nobody has, and no lock. */
static void cancels(void) {
  for (int turn = 0; turn < 40; ++turn) {
    berth_context* context = opened();
    pthread_t thread;
    void* ended = NULL;
    const struct timespec pause = {0, turn * 700000};
    EXPECT(pthread_create(&thread, NULL, leases_for_ever, context) == 0);
    (void)nanosleep(&pause, NULL);
    EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &ended) == 0);
    EXPECT(ended == PTHREAD_CANCELED);
    OK(berth_lease_free(held, &error)); /* it is there, whole, or there is none */
    held = NULL;
    berth_lease* lease = acquired(context);
    char id[128];
    id_of_first(lease, id, sizeof(id));
    EXPECT(state_of(context, id) == BERTH_LEASED);
    OK(berth_lease_free(lease, &error));
    berth_close(context);
  }
}

/* A program that adopts orphans (process 1 of a container, too) meets the helper as one of them. It
 * lives, ends by itself, and must be waited for like each other. */
static void adopts_orphans(void) {
  int status = -1;
  EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  berth_context* context = opened();
  look_once(context);
  EXPECT(waitpid(-1, &status, WNOHANG) == 0);
  OK(berth_lease_free(acquired(context), &error));
  berth_close(context);
  EXPECT(waitpid(-1, &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  no_children();
}

/* A child of fork() inherits the lease and cannot end it. */
static void forks(void) {
  char id[128];
  int status = 0;
  berth_context* context = opened();
  berth_lease* lease = acquired(context);
  id_of_first(lease, id, sizeof(id));
  const pid_t child = fork();
  if (child == 0) {
    look_once(context); /* a helper of its own */
    OK(berth_lease_free(lease, &error));
    berth_close(context);
    exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(state_of(context, id) == BERTH_LEASED);
  OK(berth_lease_free(lease, &error));
  EXPECT(state_of(context, id) == BERTH_FREE);
  berth_close(context);
}

/* Holds a lease until the test has looked, or has killed it. */
static void holds(void) {
  berth_context* context = opened();
  berth_lease* lease = acquired(context);
  pause_at(berth_lease_id(lease));
  OK(berth_lease_free(lease, &error));
  berth_close(context);
}

/* Gives the lease to a program of its own, which ends with its standard input. */
static void hands_over(void) {
  berth_context* context = opened();
  berth_lease* lease = acquired(context);
  if (fork() == 0) {
    (void)fcntl(berth_lease_fd(lease), F_SETFD, 0);
    execlp("cat", "cat", (char*)NULL);
    exit(1);
  }
  EXPECT(printf("%s\n", berth_lease_id(lease)) > 0 && fflush(stdout) == 0);
  (void)poll(NULL, 0, -1); /* until it is killed */
}

/* Waits in the queue until the test has looked, then leaves it. */
static void queues(void) {
  berth_request request = BERTH_INIT(berth_request);
  berth_lease* lease = NULL;
  berth_wait* wait = NULL;
  berth_context* context = opened();
  request.devices = 6; /* five are free */
  OK(berth_wait_begin(context, &request, -1, &wait, &error));
  while (berth_wait_news_json(wait)[0] == '\0') {
    struct pollfd ready = {berth_wait_fd(wait), POLLIN, 0};
    (void)poll(&ready, 1, -1);
    OK(berth_wait_step(wait, &lease, &error));
    EXPECT(lease == NULL);
  }
  pause_at(berth_wait_news_json(wait));
  berth_code left = berth_wait_leave(wait, &error);
  while (left == BERTH_OK) {
    struct pollfd ready = {berth_wait_fd(wait), POLLIN, 0};
    EXPECT(poll(&ready, 1, 5000) == 1);
    left = berth_wait_step(wait, &lease, NULL);
  }
  EXPECT(left == BERTH_E_NOT_FOUND && lease == NULL);
  berth_wait_free(wait);
  look_once(context); /* it is of use for other things again */
  pause_at("left");
  berth_close(context);
}

/* What a caller is told; for the tests of which program is asked. */
static void tells(void) {
  berth_context* context = opened();
  const char* program = berth_program(context);
  printf("%s\n", program == NULL ? "" : program);
  berth_look* look = NULL;
  const berth_code code = berth_look_now(context, BERTH_STATE, &look, &error);
  printf("%d %s\n", (int)code, berth_error_message(error));
  berth_look_free(look);
  berth_close(context);
}

/* A line for each device: its index and temperature, or why that is absent. */
static void lists(void) {
  berth_context* context = opened();
  berth_look* look = NULL;
  OK(berth_look_now(context, BERTH_STATE, &look, &error));
  for (size_t at = 0; at < berth_look_devices(look); ++at) {
    berth_device device = BERTH_INIT(berth_device);
    OK(berth_look_device(look, at, &device));
    printf("%d ", (int)device.index);
    if (device.temperature_celsius.absent == BERTH_PRESENT) {
      printf("%d C\n", (int)device.temperature_celsius.value);
    } else {
      printf("absent %d\n", (int)device.temperature_celsius.absent);
    }
  }
  berth_look_free(look);
  berth_close(context);
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*act)(void);
  } verbs[] = {
      {"every-call", every_call},
      {"nulls", nulls},
      {"older-structs", older_structs},
      {"newer-structs", newer_structs},
      {"large", large},
      {"waits-for-any-child", waits_for_any_child},
      {"ignores-sigchld", ignores_sigchld},
      {"reaps-in-a-thread", reaps_in_a_thread},
      {"without-stdio", without_stdio},
      {"leaks-nothing", leaks_nothing},
      {"helper-is-killed", helper_is_killed},
      {"helper-is-killed-in-steps", helper_is_killed_in_steps},
      {"steps", steps},
      {"cancels", cancels},
      {"adopts-orphans", adopts_orphans},
      {"forks", forks},
      {"holds", holds},
      {"hands-over", hands_over},
      {"queues", queues},
      {"tells", tells},
      {"lists", lists},
  };
  for (size_t at = 0; count == 2 && at < sizeof(verbs) / sizeof(verbs[0]); ++at) {
    if (strcmp(verbs[at].name, arguments[1]) == 0) {
      verbs[at].act();
      return 0;
    }
  }
  fprintf(stderr, "host VERB\n");
  return 2;
}

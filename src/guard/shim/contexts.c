/* Contexts: each takes memory of its device, and only an estimate is known beforehand. The primary
 * context of a device is one, however often it is retained. With a context goes all that was
 * allocated in it. */

#include "guard/shim/guard.h"

static struct place place_of(int ordinal) {
  return (struct place){.device = account_device(ordinal)};
}

#define CREATE(name, context, ...)                                                       \
  ALLOCATE(place_of(ordinal), context_bytes_of(place.device), of_context, name, context, \
           __VA_ARGS__)

int cuCtxCreate(void** context, unsigned flags, int ordinal) {
  CREATE(cuCtxCreate, context, flags, ordinal);
}
int cuCtxCreate_v2(void** context, unsigned flags, int ordinal) {
  CREATE(cuCtxCreate_v2, context, flags, ordinal);
}
int cuCtxCreate_v3(void** context, void* affinity, int affinities, unsigned flags, int ordinal) {
  CREATE(cuCtxCreate_v3, context, affinity, affinities, flags, ordinal);
}
int cuCtxCreate_v4(void** context, void* parameters, unsigned flags, int ordinal) {
  CREATE(cuCtxCreate_v4, context, parameters, flags, ordinal);
}

static int destroy(int (*driver_destroys)(void*), void* context) {
  struct charged one;
  const bool was_charged = take(of_context, (uintptr_t)context, &one);
  const int code = driver_destroys(context);
  if (code == success) forget_context(context);
  return settle_free(code, was_charged, &one);
}
int cuCtxDestroy(void* context) { return destroy(DRIVER(cuCtxDestroy), context); }
int cuCtxDestroy_v2(void* context) { return destroy(DRIVER(cuCtxDestroy_v2), context); }
int cuCtxDetach(void* context) { return destroy(DRIVER(cuCtxDetach), context); }

static bool is_active(int ordinal) {
  unsigned flags;
  int active = 0;
  return DRIVER(cuDevicePrimaryCtxGetState)(ordinal, &flags, &active) == success && active != 0;
}

/* Charges the primary context unless it has been. false: it is above the limit. */
static bool charge_primary(int device) {
  struct process* here = device < 0 ? NULL : process();
  if (here == NULL) return true;
  lock(&here->context_lock);
  if (!here->primary_charged[device]) {
    here->primary_charged[device] = charge(device, context_bytes_of(device));
  }
  const bool is_charged = here->primary_charged[device];
  unlock(&here->context_lock);
  return is_charged;
}

/* After whatever may have ended it: with it goes what was charged. */
static int look_at_primary(int code, int ordinal, bool was_reset) {
  const int device = account_device(ordinal);
  struct process* here = device < 0 ? NULL : process();
  if (here == NULL || (is_active(ordinal) && !was_reset)) return code;
  lock(&here->context_lock);
  const void* ended = here->primary[device];
  const bool was_charged = here->primary_charged[device];
  here->primary[device] = NULL;
  here->primary_charged[device] = false;
  unlock(&here->context_lock);
  forget_context(ended);
  if (was_charged) refund(device, context_bytes_of(device));
  look_at_pools();
  look_at_graph_memory(ordinal);
  return code;
}

int cuDevicePrimaryCtxRetain(void** context, int ordinal) {
  const int device = account_device(ordinal);
  if (!charge_primary(device)) return out_of_memory;
  const int code = DRIVER(cuDevicePrimaryCtxRetain)(context, ordinal);
  struct process* here = device < 0 ? NULL : process();
  if (here == NULL || code != success) return look_at_primary(code, ordinal, false);
  lock(&here->context_lock);
  here->primary[device] = *context;
  const bool was_refunded = !here->primary_charged[device]; /* by another thread, which failed */
  here->primary_charged[device] = true;
  unlock(&here->context_lock);
  if (was_refunded) charge_what_is_taken(device, context_bytes_of(device));
  return code;
}

int cuDevicePrimaryCtxRelease(int ordinal) {
  return look_at_primary(DRIVER(cuDevicePrimaryCtxRelease)(ordinal), ordinal, false);
}
int cuDevicePrimaryCtxRelease_v2(int ordinal) {
  return look_at_primary(DRIVER(cuDevicePrimaryCtxRelease_v2)(ordinal), ordinal, false);
}

/* A program that retains it again pays again. The sampler sees a use without that. */
int cuDevicePrimaryCtxReset(int ordinal) {
  const int code = DRIVER(cuDevicePrimaryCtxReset)(ordinal);
  return look_at_primary(code, ordinal, code == success);
}
int cuDevicePrimaryCtxReset_v2(int ordinal) {
  const int code = DRIVER(cuDevicePrimaryCtxReset_v2)(ordinal);
  return look_at_primary(code, ordinal, code == success);
}

/* A green context has some of the device's multiprocessors, and its memory in the primary context.
 */
int cuGreenCtxCreate(void** context, void* resources, int ordinal, unsigned flags) {
  const int device = account_device(ordinal);
  if (!charge_primary(device)) return out_of_memory;
  const int code = DRIVER(cuGreenCtxCreate)(context, resources, ordinal, flags);
  if (code != success) return look_at_primary(code, ordinal, false);
  if (device >= 0) {
    keep((struct charged){.kind = of_context,
                          .key = (uintptr_t)*context,
                          .other = (uint64_t)ordinal,
                          .device = (int8_t)device});
  }
  return code;
}

int cuGreenCtxDestroy(void* context) {
  struct charged one;
  const bool is_known = take(of_context, (uintptr_t)context, &one);
  const int code = DRIVER(cuGreenCtxDestroy)(context);
  if (!is_known) return code;
  if (code != success) keep(one);
  return look_at_primary(code, (int)one.other, false);
}

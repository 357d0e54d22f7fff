/* Graphs that allocate: their memory is reserved for the device at a launch or upload. Graphs that
 * do not run at once share it. It is kept until it is trimmed. */

#define _GNU_SOURCE
#include <sys/mman.h>

#include "guard/shim/guard.h"

struct need {
  int ordinal; /* of the first allocation; -1: the graph allocates nothing */
  uint64_t bytes;
};

static void add_needs(void* graph, int depth, struct need* need);

static void add_need(void* node, int depth, struct need* need) {
  int type = -1;
  void* child;
  struct allocation_node node_of;
  if (DRIVER(cuGraphNodeGetType)(node, &type) != success) return;
  if (type == node_of_graph && depth < 8 &&
      DRIVER(cuGraphChildGraphNodeGetGraph)(node, &child) == success) {
    add_needs(child, depth + 1, need);
  }
  if (type != node_of_allocation || DRIVER(cuGraphMemAllocNodeGetParams)(node, &node_of) != success)
    return;
  if (need->ordinal < 0) need->ordinal = node_of.where.location;
  need->bytes += node_of.bytes;
}

static void add_needs(void* graph, int depth, struct need* need) {
  size_t nodes = 0;
  if (DRIVER(cuGraphGetNodes)(graph, NULL, &nodes) != success || nodes == 0) return;
  void** all =
      mmap(NULL, nodes * sizeof *all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return;
  const size_t mapped = nodes * sizeof *all;
  if (DRIVER(cuGraphGetNodes)(graph, all, &nodes) == success) {
    for (size_t i = 0; i < nodes; ++i) add_need(all[i], depth, need);
  }
  munmap(all, mapped);
}

/* At its first launch a graph may need as much as all its allocations. `trims` tells whether what
 * it reserved then is still there. */
static int learn(int code, void** runnable, void* graph) {
  struct process* here = process();
  if (code != success || here == NULL) return code;
  struct need need = {.ordinal = -1};
  add_needs(graph, 0, &need);
  const int device = need.ordinal < 0 ? -1 : account_device(need.ordinal);
  if (device < 0) return code;
  keep((struct charged){.kind = of_graph,
                        .key = (uintptr_t)*runnable,
                        .bytes = need.bytes,
                        .other = (uint64_t)need.ordinal,
                        .device = (int8_t)device});
  return code;
}

int cuGraphInstantiate(void** runnable, void* graph, void** node, char* log, size_t bytes) {
  return learn(DRIVER(cuGraphInstantiate)(runnable, graph, node, log, bytes), runnable, graph);
}
int cuGraphInstantiate_v2(void** runnable, void* graph, void** node, char* log, size_t bytes) {
  return learn(DRIVER(cuGraphInstantiate_v2)(runnable, graph, node, log, bytes), runnable, graph);
}
int cuGraphInstantiateWithFlags(void** runnable, void* graph, flags64 flags) {
  return learn(DRIVER(cuGraphInstantiateWithFlags)(runnable, graph, flags), runnable, graph);
}
int cuGraphInstantiateWithParams(void** runnable, void* graph, void* parameters) {
  return learn(DRIVER(cuGraphInstantiateWithParams)(runnable, graph, parameters), runnable, graph);
}
int cuGraphInstantiateWithParams_ptsz(void** runnable, void* graph, void* parameters) {
  return learn(DRIVER(cuGraphInstantiateWithParams_ptsz)(runnable, graph, parameters), runnable,
               graph);
}

static uint64_t attribute(int ordinal, int number) {
  uint64_t value = 0;
  return DRIVER(cuDeviceGetGraphMemAttribute)(ordinal, number, &value) == success ? value : 0;
}

/* Charges what the device reserves for graphs now; `expected` has been charged beforehand. */
static void charge_reserved(int ordinal, int device, uint64_t expected) {
  struct process* here = device < 0 ? NULL : process();
  if (here == NULL) return;
  lock(&here->graph_lock);
  const uint64_t before = here->graph_charged[device] + expected;
  const uint64_t after = attribute(ordinal, graph_memory_reserved);
  here->graph_charged[device] = after;
  unlock(&here->graph_lock);
  if (after > before) charge_what_is_taken(device, after - before);
  if (after < before) refund(device, before - after);
}

void look_at_graph_memory(int ordinal) { charge_reserved(ordinal, account_device(ordinal), 0); }

/* The count of a graph is that of trims at its last launch, + 1; 0: it was not launched. */
static int launch(int (*run)(void*, void*), void* runnable, void* stream) {
  struct charged graph;
  if (!find(of_graph, (uintptr_t)runnable, &graph)) return run(runnable, stream);
  struct process* here = process();
  const int ordinal = (int)graph.other;
  const uint32_t since = atomic_load(&here->graph_trims) + 1;
  uint64_t expected = 0;
  if (graph.count != since) {
    const uint64_t reserved = attribute(ordinal, graph_memory_reserved);
    const uint64_t used = attribute(ordinal, graph_memory_used);
    const uint64_t kept = reserved > used ? reserved - used : 0;
    expected = graph.bytes > kept ? graph.bytes - kept : 0;
  }
  if (!charge(graph.device, expected)) return out_of_memory;
  const int code = run(runnable, stream);
  charge_reserved(ordinal, graph.device, expected);
  if (code == success && graph.count != since) {
    count(of_graph, (uintptr_t)runnable, (int)(since - graph.count), &graph);
  }
  return code;
}

int cuGraphLaunch(void* runnable, void* stream) {
  return launch(DRIVER(cuGraphLaunch), runnable, stream);
}
int cuGraphLaunch_ptsz(void* runnable, void* stream) {
  return launch(DRIVER(cuGraphLaunch_ptsz), runnable, stream);
}
int cuGraphUpload(void* runnable, void* stream) {
  return launch(DRIVER(cuGraphUpload), runnable, stream);
}
int cuGraphUpload_ptsz(void* runnable, void* stream) {
  return launch(DRIVER(cuGraphUpload_ptsz), runnable, stream);
}

int cuGraphExecDestroy(void* runnable) {
  struct charged graph;
  const bool is_known = take(of_graph, (uintptr_t)runnable, &graph);
  const int code = DRIVER(cuGraphExecDestroy)(runnable);
  if (is_known && code != success) keep(graph);
  if (is_known && code == success) charge_reserved((int)graph.other, graph.device, 0);
  return code;
}

int cuDeviceGraphMemTrim(int ordinal) {
  const int code = DRIVER(cuDeviceGraphMemTrim)(ordinal);
  struct process* here = process();
  if (here != NULL) atomic_fetch_add(&here->graph_trims, 1);
  look_at_graph_memory(ordinal);
  return code;
}

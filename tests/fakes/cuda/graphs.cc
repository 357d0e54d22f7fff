// The fake driver's graphs, of nodes that allocate and free and of empty ones. A device keeps what
// its graphs reserved until it is trimmed.

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "fake_driver.h"

using namespace fake;

namespace {

constexpr int empty_node = 5, allocation_node = 10, free_node = 11;

/// CUDA_MEM_ALLOC_NODE_PARAMS of cuda.h.
struct Allocates {
  int type, handle_types, location_type, device;
  char rest[72];
  const void* access;
  std::size_t access_count, bytes;
  Address result;
};
static_assert(sizeof(Allocates) == 120);

struct Node {
  int type;
  Allocates allocates{};
  Address freed = 0;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct Runnable {
  int device = 0;
  std::size_t needs = 0, leaves = 0;  ///< while it runs, and after it
  std::size_t left = 0;               ///< by its last launch
  bool frees_on_launch = false;
};

struct Reserved {
  std::size_t reserved = 0, used = 0;
};
auto& of_devices = *new std::array<Reserved, 64>;
std::mutex graphs_guard;

int add(void** node, void* graph, Node made) {
  auto& nodes = static_cast<Graph*>(graph)->nodes;
  nodes.push_back(std::make_unique<Node>(made));
  *node = nodes.back().get();
  return 0;
}

int instantiate(void** runnable, void* graph, unsigned long long flags) {
  auto made = std::make_unique<Runnable>();
  made->frees_on_launch = (flags & 1U) != 0;
  for (const auto& node : static_cast<Graph*>(graph)->nodes) {
    if (node->type != allocation_node) continue;
    made->device = node->allocates.device;
    made->needs += node->allocates.bytes;
    const bool is_freed = std::ranges::any_of(static_cast<Graph*>(graph)->nodes, [&](auto& other) {
      return other->type == free_node && other->freed == node->allocates.result;
    });
    if (!is_freed) made->leaves += node->allocates.bytes;
  }
  *runnable = made.release();
  return 0;
}

int reserve_for(void* runnable, bool runs) {
  auto& one = *static_cast<Runnable*>(runnable);
  const std::lock_guard lock(graphs_guard);
  Reserved& device = of_devices[static_cast<std::size_t>(one.device)];
  if (one.left > 0 && !one.frees_on_launch) return invalid_value;
  device.used -= one.left;
  one.left = 0;
  const std::size_t kept = device.reserved - device.used;
  const std::size_t more = one.needs > kept ? one.needs - kept : 0;
  if (!use(one.device, more)) return out_of_memory;
  device.reserved += more;
  if (!runs) return 0;
  device.used += one.leaves;
  one.left = one.leaves;
  return 0;
}

}  // namespace

extern "C" {

int cuGraphCreate(void** graph, unsigned) {
  *graph = new Graph;
  return 0;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}

int cuGraphAddMemAllocNode(void** node, void* graph, void* const*, std::size_t, void* parameters) {
  if (const int code = fault("cuGraphAddMemAllocNode")) return code;
  auto* wanted = static_cast<Allocates*>(parameters);
  if (card(wanted->device) == nullptr) return invalid_value;
  wanted->result = place({.bytes = wanted->bytes, .device = wanted->device});
  return add(node, graph, {.type = allocation_node, .allocates = *wanted});
}
int cuGraphAddMemFreeNode(void** node, void* graph, void* const*, std::size_t, Address freed) {
  return add(node, graph, {.type = free_node, .freed = freed});
}
int cuGraphAddEmptyNode(void** node, void* graph, void* const*, std::size_t) {
  return add(node, graph, {.type = empty_node});
}

/// CUgraphNodeParams: the type, and the node's own parameters from byte 16 on.
int cuGraphAddNode(void** node, void* graph, void* const* before, std::size_t count,
                   void* parameters) {
  int type = 0;
  std::memcpy(&type, parameters, sizeof type);
  if (type != allocation_node) return not_supported;
  return cuGraphAddMemAllocNode(node, graph, before, count, static_cast<char*>(parameters) + 16);
}

int cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  const auto& all = static_cast<Graph*>(graph)->nodes;
  for (std::size_t i = 0; nodes != nullptr && i < std::min(*count, all.size()); ++i) {
    nodes[i] = all[i].get();
  }
  *count = all.size();
  return 0;
}
int cuGraphNodeGetType(void* node, int* type) {
  *type = static_cast<Node*>(node)->type;
  return 0;
}
int cuGraphMemAllocNodeGetParams(void* node, void* parameters) {
  std::memcpy(parameters, &static_cast<Node*>(node)->allocates, sizeof(Allocates));
  return 0;
}

int cuGraphInstantiate_v2(void** runnable, void* graph, void**, char*, std::size_t) {
  return instantiate(runnable, graph, 0);
}
int cuGraphInstantiateWithFlags(void** runnable, void* graph, unsigned long long flags) {
  return instantiate(runnable, graph, flags);
}
int cuGraphInstantiateWithParams(void** runnable, void* graph, unsigned long long* parameters) {
  return instantiate(runnable, graph, parameters[0]);
}
int cuGraphInstantiateWithParams_ptsz(void** runnable, void* graph,
                                      unsigned long long* parameters) {
  return instantiate(runnable, graph, parameters[0]);
}

int cuGraphUpload(void* runnable, void*) { return reserve_for(runnable, false); }
int cuGraphLaunch(void* runnable, void*) {
  if (const int code = fault("cuGraphLaunch")) return code;
  return reserve_for(runnable, true);
}
int cuGraphLaunch_ptsz(void* runnable, void*) { return reserve_for(runnable, true); }

int cuGraphExecDestroy(void* runnable) {
  auto* one = static_cast<Runnable*>(runnable);
  const std::lock_guard lock(graphs_guard);
  of_devices[static_cast<std::size_t>(one->device)].used -= one->left;
  delete one;
  return 0;
}

int cuDeviceGraphMemTrim(int device) {
  const std::lock_guard lock(graphs_guard);
  Reserved& one = of_devices[static_cast<std::size_t>(device)];
  give_back(device, one.reserved - one.used);
  one.reserved = one.used;
  return 0;
}

/// USED_MEM_CURRENT and RESERVED_MEM_CURRENT.
int cuDeviceGetGraphMemAttribute(int device, int attribute, void* value) {
  if (card(device) == nullptr || (attribute != 0 && attribute != 2)) return invalid_value;
  const std::lock_guard lock(graphs_guard);
  const Reserved& one = of_devices[static_cast<std::size_t>(device)];
  *static_cast<std::size_t*>(value) = attribute == 0 ? one.used : one.reserved;
  return 0;
}

}  // extern "C"

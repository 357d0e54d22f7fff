#include "run/binding.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "snapshot/details.h"
#include "snapshot/questions.h"

namespace berth {

namespace {
constexpr int mpol_preferred = 1;  // linux/mempolicy.h
}  // namespace

Result<Binding> plan_binding(const std::vector<DeviceId>& devices, const Snapshot& snapshot) {
  Binding binding;
  bool is_one_node = true;
  for (const DeviceId& id : devices) {
    const Device* device = find_device(id, snapshot);
    if (device != nullptr && device->parent) device = find_device(*device->parent, snapshot);
    const auto text = device == nullptr ? Reading<std::string>(Absent::failed)
                                        : device->details.get<std::string>(Detail::cpu_affinity);
    const auto cpus = text.get() ? numbers_in_list(*text.get()) : std::nullopt;
    if (!cpus || cpus->back() >= CPU_SETSIZE) {
      return fail(ErrorCode::unsupported,
                  "the job is not bound: which CPUs are close to device {} is not known",
                  printable(id.text()));
    }
    binding.cpus.insert(binding.cpus.end(), cpus->begin(), cpus->end());
    const auto& node = device->numa_node.get();
    const auto number = node ? std::optional(static_cast<int>(*node)) : std::nullopt;
    is_one_node = is_one_node && number && (!binding.node || binding.node == number);
    binding.node = number;
  }
  std::ranges::sort(binding.cpus);
  binding.cpus.erase(std::unique(binding.cpus.begin(), binding.cpus.end()), binding.cpus.end());
  if (!is_one_node) binding.node.reset();
  return binding;
}

void bind_to(const Binding& binding) {
  cpu_set_t allowed;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  bool any = false;
  for (const int cpu : binding.cpus) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) continue;
    CPU_SET(static_cast<std::size_t>(cpu), &wanted);
    any = true;
  }
  if (!any || ::sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
  constexpr int most_nodes = 64;
  if (!binding.node || *binding.node < 0 || *binding.node >= most_nodes) return;
  const unsigned long nodes = 1UL << static_cast<unsigned>(*binding.node);
  (void)::syscall(SYS_set_mempolicy, mpol_preferred, &nodes, most_nodes + 1);
}

}  // namespace berth

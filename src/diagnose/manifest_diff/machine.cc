// The machine around the devices: driver, system, processor, user and place.

#include <set>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/manifest_diff/comparison.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

constexpr DifferenceKind driver{
    "driver", Explains::speed,
    as_key("The driver compiles and schedules a program's code. Results stay, unless code is made "
           "for a new card while it loads (PTX).")};
constexpr DifferenceKind runtime{
    "runtime", Explains::results,
    as_key("Its libraries choose algorithms by their version: sums come in another order.")};
constexpr DifferenceKind system{
    "system", Explains::speed,
    as_key("Kernel and system libraries schedule, read and copy: that is time, not results.")};
constexpr DifferenceKind processor{
    "processor", Explains::speed,
    as_key("The processor feeds the GPU: it decides how long a GPU waits for data.")};
constexpr DifferenceKind computing_processor{
    "processor", Explains::results,
    as_key("It did the computing: other vector units and another number of threads sum in another "
           "order.")};
constexpr DifferenceKind container{
    "container", Explains::neither,
    as_key("What is in a container is compared by itself: packages, libraries, variables.")};
constexpr DifferenceKind who{
    "who_and_where", Explains::neither,
    as_key("Who ran it and on which host says nothing by itself: what that host is stands above.")};

std::string as_size(Bytes bytes) { return short_size(bytes); }

/// The vendors that one of the two has asked for.
std::set<Runtime> vendors_of(const Manifest& a, const Manifest& b) {
  std::set<Runtime> vendors;
  for (const Manifest* of : {&a, &b}) {
    for (const Runtime vendor : vendors_asked(of->given.host)) vendors.insert(vendor);
  }
  return vendors;
}

Told told_driver(Runtime vendor, const Host& host) {
  if (has_in_tree_driver(vendor, host)) return told(Sentence(in_tree_driver));
  return told(host.software_of(vendor).driver);
}

/// If there is no file with its version, that is known.
Told told_runtime(const Reading<std::string>& version) {
  if (!version.get() && version.why() == Absent::unsupported) return told(sentence("none"));
  return told(version);
}

}  // namespace

void compare_machines(const Manifest& a, const Manifest& b, Comparison& into) {
  const auto compare = [&](const DifferenceKind& kind, const Sentence& what, auto of) {
    into.compare(kind, what, of(a), of(b));
  };
  const bool on_cpu = computes_on_cpu(a) && computes_on_cpu(b);
  const DifferenceKind& cpu = on_cpu ? computing_processor : processor;
  for (const Runtime vendor : vendors_of(a, b)) {
    const DeviceKindFacts& facts = facts_of(vendor);
    compare(driver, sentence("{} driver", facts.vendor),
            [&](const Manifest& of) { return told_driver(vendor, of.given.host); });
    if (facts.runtime_version == RuntimeVersion::supported) continue;  // it follows from the driver
    compare(runtime, Sentence::as_is(std::string(facts.runtime_name)), [&](const Manifest& of) {
      return told_runtime(of.given.host.software_of(vendor).runtime);
    });
  }
  compare(cpu, sentence("CPU model"),
          [](const Manifest& of) { return told(of.machine.cpu_model); });
  compare(cpu, sentence("CPUs"), [](const Manifest& of) {
    return told(of.machine.cpu_count, [](std::uint64_t n) { return std::to_string(n); });
  });
  compare(system, sentence("main memory"),
          [](const Manifest& of) { return told(of.machine.memory_total, as_size); });
  compare(system, sentence("operating system"),
          [](const Manifest& of) { return told(of.machine.operating_system); });
  compare(system, sentence("kernel"),
          [](const Manifest& of) { return told(of.given.host.kernel); });
  compare(system, sentence("machine type"),
          [](const Manifest& of) { return told(of.machine.instance_type); });
  compare(container, sentence("container"), [](const Manifest& of) {
    return told(of.machine.container, [](const std::string& name) {
      return name.empty() ? sentence("none") : Sentence::as_is(name);
    });
  });
  compare(who, sentence("host"), [](const Manifest& of) { return told(of.given.host.name); });
  compare(who, sentence("user"), [](const Manifest& of) { return told(of.user); });
}

}  // namespace berth

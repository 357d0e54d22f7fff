// What the machine gives a program beside its GPUs: main memory, CPUs, limits, power settings.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/doctor/examined.h"

namespace berth::doctor {

namespace {

/// Nothing: it was not asked.
std::optional<int> torch_threads(const Examined& host) {
  if (!host.facts.python) return std::nullopt;
  const FrameworkSaid* said = host.facts.python->said_of("torch");
  return said == nullptr ? std::nullopt : said->threads;
}

/// Has the finding say it, where it is known.
void add_torch_threads(const Examined& host, Finding& finding) {
  const auto threads = torch_threads(host);
  if (!threads) return;
  finding.evidence.push_back(
      sentence("torch, asked in a process of its own, computes with {} threads", *threads));
}

constexpr Bytes gibibyte{std::uint64_t{1} << 30};

Findings shared_memory_small(const Examined& host) {
  const auto& total = host.facts.limits->shared_memory_total.get();
  const auto& free = host.facts.limits->shared_memory_free.get();
  if (!total || !free) return {};
  const bool small = total->count() < gibibyte.count() / 4;
  const bool full = free->count() * 20 < total->count();
  if (!small && !full) return {};
  Finding finding{
      .rule = "shared_memory_small",
      .severity = small && !is_container(host) ? Severity::hint : Severity::warning,
      .title = small ? sentence("shared memory is small") : sentence("shared memory is full"),
      .evidence = {sentence("/dev/shm has {}, {} of it free", short_size(*total),
                            short_size(*free))},
      .meaning = sentence("Data-loader workers hand batches over through it; when it is full "
                          "they die with \"bus error\".")};
  if (!small) {
    finding.steps.push_back(
        {sentence("see what lies there; what no program uses can go"), "ls -lS /dev/shm | head"});
  } else if (is_container(host)) {
    finding.steps.push_back(
        {sentence("start the container with more"), "docker run --shm-size=8g …"});
  } else {
    finding.steps.push_back({sentence("give it more"), "sudo mount -o remount,size=8g /dev/shm"});
  }
  finding.steps.push_back({sentence("or let PyTorch's workers use files instead: "
                                    "torch.multiprocessing.set_sharing_strategy('file_system')"),
                           ""});
  return {finding};
}

Findings memory_low(const Examined& host) {
  const Limits& limits = *host.facts.limits;
  const auto& total = limits.memory_total.get();
  const auto& available = limits.memory_available.get();
  if (!total || !available || available->count() * 20 >= total->count()) return {};
  Finding finding{
      .rule = "memory_low",
      .severity = Severity::warning,
      .title = sentence("the machine's memory is nearly used up"),
      .evidence = {sentence("{} of {} are available", short_size(*available), short_size(*total))},
      .meaning = sentence("What needs more is slowed down by swapping, or killed by the kernel."),
      .steps = {{sentence("see who has it"), "ps aux --sort=-rss | head"}}};
  const auto& swap = limits.swap_total.get();
  const auto& swap_free = limits.swap_free.get();
  if (swap && swap_free && swap->count() > 0 && swap_free->count() * 2 < swap->count()) {
    finding.evidence.push_back(
        sentence("{} of {} of swap are left", short_size(*swap_free), short_size(*swap)));
  }
  return {std::move(finding)};
}

Findings memory_limit_near(const Examined& host) {
  const Limits& limits = *host.facts.limits;
  const auto& total = limits.memory_total.get();
  const auto& limit = limits.memory_limit.get();
  const auto& charged = limits.memory_charged.get();
  if (!limit || !charged || !total || limit->count() >= total->count() ||
      charged->count() * 20 <= limit->count() * 19) {
    return {};
  }
  return {{.rule = "memory_limit_near",
           .severity = Severity::warning,
           .title = sentence("the memory limit of this container or job is nearly reached"),
           .evidence = {sentence("{} of {} are charged to its control group", short_size(*charged),
                                 short_size(*limit))},
           .meaning =
               sentence("Beyond it the kernel kills a process of the group, mostly the largest."),
           .steps = {{sentence("ask for more memory, or for fewer data-loader workers"), ""}},
           .doubt = sentence("a part of it may be file cache, which the kernel takes back first")}};
}

Findings quota_below_cores(const Examined& host) {
  const Limits& limits = *host.facts.limits;
  const auto& quota = limits.cpu_quota.get();
  const auto& allowed = limits.cpus_allowed.get();
  const bool told = host.facts.variable("OMP_NUM_THREADS").has_value();
  // Libraries count the CPUs they may run on and know nothing of a quota.
  if (!quota || !allowed || told || *quota * 2 > static_cast<double>(*allowed)) return {};
  Finding finding{
      .rule = "quota_below_cores",
      .severity = Severity::hint,
      .title = sentence("libraries will start far more threads than the CPU quota carries"),
      .evidence = {sentence("the control group's quota is {} CPUs", fmt::format("{:g}", *quota)),
                   sentence("this process sees {} CPUs, and OMP_NUM_THREADS is not set", *allowed)},
      .meaning = sentence("Each library starts a thread per CPU that it sees. The quota then stops "
                          "them all for a part of every tenth of a second."),
      .steps = {{sentence("ask for as many as the quota carries"),
                 fmt::format("export OMP_NUM_THREADS={}", std::max(1, static_cast<int>(*quota)))}}};
  add_torch_threads(host, finding);
  return {std::move(finding)};
}

/// CPUs' worth of work that this process may do at a time.
std::optional<double> usable_cpus(const Limits& limits) {
  const auto& allowed = limits.cpus_allowed.get();
  const auto& quota = limits.cpu_quota.get();
  if (!allowed) return std::nullopt;
  return quota ? std::min(*quota, static_cast<double>(*allowed)) : static_cast<double>(*allowed);
}

Finding too_many(std::string_view variable, double usable) {
  return {
      .rule = "threads_over_cores",
      .severity = Severity::warning,
      .title = sentence("more threads are asked for than there are CPUs for them"),
      .evidence = {sentence("this process may use {} CPUs", fmt::format("{:g}", usable))},
      .meaning = sentence("Threads that take turns on one CPU wait for each other: slower than "
                          "with fewer."),
      .steps = {{sentence("ask for as many as there are"),
                 fmt::format("export {}={}", variable, std::max(1, static_cast<int>(usable)))}}};
}

constexpr const char* thread_counts[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                         "OPENBLAS_NUM_THREADS"};

/// The threads of the outermost level: "32" of "32,4". Nothing: OpenMP would not read it.
std::optional<std::uint64_t> threads_in(std::string_view value) {
  std::optional<std::uint64_t> first;
  for (const std::string_view part : split(value, ',')) {
    const auto number = parse_unsigned(trimmed(part));
    if (!number || *number == 0) return std::nullopt;
    if (!first) first = number;
  }
  return first;
}

Findings threads_not_a_number(const Examined& host) {
  const auto usable = usable_cpus(*host.facts.limits);
  Findings findings;
  for (const char* name : thread_counts) {
    const auto value = host.facts.variable(name);
    if (!value || threads_in(*value)) continue;
    findings.push_back(
        {.rule = "threads_not_a_number",
         .severity = Severity::warning,
         .title = sentence("{} has no number of threads", name),
         .evidence = {sentence("{}=\"{}\"", name, *value)},
         .meaning = sentence("Libraries pass it over, some with \"Invalid value for environment "
                             "variable\", and start a thread per CPU."),
         .steps = {usable
                       ? Finding::Step{sentence("ask for as many as there are"),
                                       fmt::format("export {}={}", name,
                                                   std::max(1, static_cast<int>(*usable)))}
                       : Finding::Step{sentence("leave it out"), fmt::format("unset {}", name)}}});
  }
  return findings;
}

void too_many_by_variables(const Examined& host, double usable, Findings& findings) {
  for (const char* name : thread_counts) {
    const auto value = host.facts.variable(name);
    const auto wanted = value ? threads_in(*value) : std::nullopt;
    if (!wanted || static_cast<double>(*wanted) <= std::ceil(usable)) continue;
    Finding finding = too_many(name, usable);
    finding.evidence.insert(finding.evidence.begin(), sentence("{}={}", name, *value));
    add_torch_threads(host, finding);
    findings.push_back(std::move(finding));
  }
}

/// If no variable says why: a build that counts all CPUs.
void too_many_by_torch(const Examined& host, double usable, Findings& findings) {
  const auto threads = torch_threads(host);
  if (!threads || *threads <= std::ceil(usable) || *threads < 2 * usable) return;
  findings.push_back(too_many("OMP_NUM_THREADS", usable));
  add_torch_threads(host, findings.back());
}

Findings threads_over_cores(const Examined& host) {
  const auto usable = usable_cpus(*host.facts.limits);
  if (!usable) return {};
  Findings findings;
  too_many_by_variables(host, *usable, findings);
  // A quota that is why is told by its own rule.
  if (findings.empty() && quota_below_cores(host).empty())
    too_many_by_torch(host, *usable, findings);
  return findings;
}

Findings one_cpu_of_many(const Examined& host) {
  const auto& allowed = host.facts.limits->cpus_allowed.get();
  const auto& online = host.facts.limits->cpus_online.get();
  if (!online || !allowed || *allowed != 1 || *online < 4) return {};
  return {{.rule = "one_cpu_of_many",
           .severity = Severity::warning,
           .title = sentence("this process may run on one CPU alone"),
           .evidence = {sentence("its affinity allows 1 of {} CPUs", *online)},
           .meaning = sentence("Data loaders started from here share that CPU, and the GPU waits."),
           .steps = {
               {sentence("see who set it (taskset, a scheduler, a library)"), "taskset -cp $$"}}}};
}

Findings open_files_low(const Examined& host) {
  const auto& soft = host.facts.limits->open_files.get();
  // 1024 is what every login has; data loaders get by with it until they keep many batches.
  if (!soft || *soft >= 1024) return {};
  const auto& hard = host.facts.limits->open_files_hard.get();
  const std::uint64_t more = std::min<std::uint64_t>(hard.value_or(65'536), 65'536);
  const Finding::Step raise =
      more > *soft
          ? Finding::Step{sentence("raise it for this shell"), fmt::format("ulimit -n {}", more)}
          : Finding::Step{sentence("it is the most that you are allowed: ask the administrator "
                                   "(nofile in limits.conf, LimitNOFILE of the service)"),
                          "ulimit -Hn"};
  return {{.rule = "open_files_low",
           .severity = Severity::warning,
           .title = sentence("few files may be open at a time"),
           .evidence = {sentence("the limit is {} (ulimit -n)", *soft)},
           .meaning = sentence("Data-loader workers pass batches as open files. It ends with \"too "
                               "many open files\" or \"received 0 items of ancdata\"."),
           .steps = {raise}}};
}

Findings mkl_missing(const Examined& host) {
  const auto& vendor = host.facts.limits->cpu_vendor.get();
  if (!vendor || *vendor != "GenuineIntel") return {};
  const FrameworkSaid* said = host.facts.python->said_of("torch");
  // A program that computes on a GPU does not wait for the CPU's products.
  if (said == nullptr || said->has_mkl.value_or(true) || said->sees_gpu.value_or(false)) return {};
  return {{.rule = "mkl_missing",
           .severity = Severity::hint,
           .title = sentence("this torch computes on the CPU without MKL"),
           .evidence = {sentence("torch {} says so, and the CPU is Intel's", said->version)},
           .meaning = sentence("Official builds have Intel's library for matrices and Fourier "
                               "transforms; others do the same, some of it more slowly."),
           .steps = {{sentence("if it computes on the CPU for long: compare with an official "
                               "build"),
                      ""}},
           .doubt = sentence("OpenBLAS, where it is built well, comes close")}};
}

Findings governor_powersave(const Examined& host) {
  const auto& governor = host.facts.limits->governor.get();
  const auto& driver = host.facts.limits->frequency_driver.get();
  // intel_pstate and amd_pstate choose speeds themselves: their "powersave" is the normal one.
  if (!governor || *governor != "powersave" || !driver ||
      driver->find("pstate") != std::string::npos) {
    return {};
  }
  return {
      {.rule = "governor_powersave",
       .severity = Severity::hint,
       .title = sentence("the CPUs are kept at their lowest speed"),
       .evidence = {sentence("governor {} of driver {}", *governor, *driver)},
       .meaning =
           sentence("With this driver it never goes faster; preparing data takes twice as long "
                    "and more."),
       .steps = {{sentence("let them go faster"), "sudo cpupower frequency-set -g schedutil"}}}};
}

Findings persistence_off(const Examined& host) {
  std::vector<const Device*> off;
  for (const Device* device : working_gpus(host)) {
    // A display keeps the driver awake all the time.
    if (device->display_active.get().value_or(false)) return {};
    if (device->display_attached.get().value_or(false)) return {};
    const auto& mode = device->persistence_mode.get();
    if (mode && !*mode) off.push_back(device);
  }
  if (off.empty() || is_container(host)) return {};
  return {{.rule = "persistence_off",
           .severity = Severity::hint,
           .title = sentence("persistence mode is off"),
           .evidence = {sentence("it is off on GPU {}, and no display keeps the driver awake",
                                 names_of(off))},
           .meaning = sentence(
               "Whenever no program has a GPU open, the driver puts it away. The next start waits "
               "a second or more per card. Limits and clocks that were set are forgotten."),
           .steps = {{sentence("keep the driver awake, for good"),
                      "sudo systemctl enable --now nvidia-persistenced"},
                     {sentence("or until the next boot"), "sudo nvidia-smi -pm 1"}}}};
}

}  // namespace

std::span<const DoctorRule> machine_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = shared_memory_small,
       .needs = HostPart::limits,
       .reports = {{"shared_memory_small", "warning; hint outside of containers",
                    "/dev/shm below 256 MiB, or 95 % full", "--shm-size, or files"}}},
      {.find = memory_low,
       .needs = HostPart::limits,
       .reports = {{"memory_low", "warning", "less than 5 % of the memory available",
                    "see who has it"}}},
      {.find = memory_limit_near,
       .needs = HostPart::limits,
       .reports = {{"memory_limit_near", "warning",
                    "95 % of the control group's limit are charged, files that can be given back "
                    "not counted",
                    "more memory, fewer workers"}}},
      {.find = threads_over_cores,
       .needs = HostPart::limits,
       .reports = {{"threads_over_cores", "warning",
                    "OMP_, MKL_ or OPENBLAS_NUM_THREADS above the CPUs allowed; else twice as many "
                    "threads as those by torch's own word",
                    "as many as there are"}}},
      {.find = threads_not_a_number,
       .needs = HostPart::limits,
       .reports = {{"threads_not_a_number", "warning",
                    "OMP_, MKL_ or OPENBLAS_NUM_THREADS is 0, empty or no number",
                    "as many as there are CPUs"}}},
      {.find = quota_below_cores,
       .needs = HostPart::limits,
       .reports = {{"quota_below_cores", "hint",
                    "the CPU quota is at most half of the CPUs seen, OMP_NUM_THREADS is not set",
                    "OMP_NUM_THREADS"}}},
      {.find = one_cpu_of_many,
       .needs = HostPart::limits,
       .reports = {{"one_cpu_of_many", "warning", "affinity allows one CPU of four or more",
                    "see who set it"}}},
      {.find = open_files_low,
       .needs = HostPart::limits,
       .reports = {{"open_files_low", "warning", "fewer than 1024 files may be open",
                    "ulimit -n"}}},
      {.find = mkl_missing,
       .needs = HostPart::python | HostPart::limits,
       .reports =
           {{"mkl_missing", "hint, with a doubt",
             "torch, asked, says that it has no MKL; the CPU is Intel's, and torch sees no GPU",
             "compare with an official build"}}},
      {.find = governor_powersave,
       .needs = HostPart::limits,
       .reports =
           {{"governor_powersave", "hint",
             "governor powersave of a driver that then stays slow (not intel_pstate, amd_pstate)",
             "cpupower"}}},
      {.find = persistence_off,
       .reports = {{"persistence_off", "hint", "persistence mode off and no display on any card",
                    "nvidia-persistenced"}}},
  };
  return rules;
}

}  // namespace berth::doctor

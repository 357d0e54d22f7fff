#include "diagnose/doctor/torch_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace berth::doctor {

namespace {

/// How many of the cards it has code for.
int cards_fitted(const TorchBuild& build, const Examined& host) {
  const auto architectures = torch_architectures(build.torch, build.cuda);
  int fitted = 0;
  for (const Device* device : working_gpus(host)) {
    const auto& capability = device->compute_capability.get();
    // From 13 on the builds carry PTX of their newest architecture (RELEASE.md).
    fitted += capability && runs_on(*capability, architectures, build.cuda.major >= 13) ? 1 : 0;
  }
  return fitted;
}

bool fits_driver(const TorchBuild& build, const Examined& host) {
  const auto& driver = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  const auto needs = driver_needs(build.cuda);
  return driver && needs && !is_older_version(*driver, needs->runs);
}

bool has_mirror(const PythonEnvironment& python) { return !python.index_url.empty(); }

bool is_cpu_index(const PythonEnvironment& python) {
  return python.index_url.find("/whl/cpu") != std::string::npos;
}

std::string official_index(TwoPart cuda) {
  return fmt::format("https://download.pytorch.org/whl/cu{}{}", cuda.major, cuda.minor);
}

/// "torch==2.9.* torchvision", whatever of the family is there.
std::string family(const PythonEnvironment& python, const TorchBuild* build) {
  std::string words =
      build == nullptr ? "torch" : fmt::format("'torch=={}.*'", build->torch.text());
  for (const char* name : {"torchvision", "torchaudio"}) {
    const bool there =
        std::ranges::any_of(python.packages, [&](const auto& one) { return one.first == name; });
    if (there) words += std::string(" ") + name;
  }
  return words;
}

struct Pip {
  std::string install;
  std::string uninstall;
  Sentence note;  // why it is another environment; empty: it is not
};

Pip pip_of(const PythonEnvironment& python, const FrameworkBuild& installed) {
  const std::string interpreter = shell_quoted(python.interpreter);
  if (installed.installer == "uv") {
    return {
        fmt::format("uv pip install --python {}", interpreter),
        fmt::format("uv pip uninstall --python {} {} && ", interpreter, family(python, nullptr)),
        {}};
  }
  if (python.is_managed || installed.where.find("/dist-packages") != std::string::npos) {
    return {fmt::format("{} -m venv ~/gpu-python && ~/gpu-python/bin/pip install", interpreter), "",
            sentence("the system's own Python is not to be changed: in an environment of its own")};
  }
  return {fmt::format("{} -m pip install", interpreter),
          fmt::format("{} -m pip uninstall -y {} && ", interpreter, family(python, nullptr)),
          {}};
}

std::vector<Finding::Step> torch_steps(const Examined& host, const FrameworkBuild& installed) {
  const PythonEnvironment& python = *host.facts.python;
  if (python.is_conda && installed.installer == "conda") {
    // Without -c conda keeps to the channels of its settings: that is the user's own mirror.
    const Sentence which = python.channels_source.empty()
                               ? sentence("take the CUDA build, from the channels you use")
                               : sentence("take the CUDA build, from the channels that {} names",
                                          python.channels_source);
    return {{which, fmt::format("conda install -p {} 'pytorch=*=*cuda*'",
                                shell_quoted(python.environment))}};
  }
  const auto build = fitting_torch(host, installed);
  if (!build) return {};
  const Pip pip = pip_of(python, installed);
  const std::string wanted = family(python, &*build);
  const std::string from_official = fmt::format("{}{} {} --index-url {}", pip.uninstall,
                                                pip.install, wanted, official_index(build->cuda));
  const Sentence which = pip.note.empty() ? sentence("put torch {} for CUDA {} in its place",
                                                     build->torch.text(), build->cuda.text())
                                          : pip.note;
  std::vector<Finding::Step> steps;
  if (has_mirror(python) && !is_cpu_index(python) && build->is_default) {
    steps.push_back({which, fmt::format("{}{} {}", pip.uninstall, pip.install, wanted)});
    steps.push_back({sentence("if your package mirror has no such build"), from_official});
  } else {
    steps.push_back({which, from_official});
  }
  return steps;
}

std::vector<Finding::Step> jax_steps(const Examined& host, const FrameworkBuild& installed) {
  const auto& driver = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  if (!driver || is_older_version(*driver, "525.60.13")) return {};
  const bool is_new = !is_older_version(*driver, "580") &&
                      std::ranges::all_of(working_gpus(host), [](const Device* device) {
                        return device->compute_capability.get() &&
                               *device->compute_capability.get() >= ComputeCapability{7, 5};
                      });
  return {{sentence("add its CUDA plugin"),
           fmt::format("{} --upgrade 'jax[cuda{}]'", pip_of(*host.facts.python, installed).install,
                       is_new ? 13 : 12)}};
}

}  // namespace

std::optional<TorchBuild> fitting_torch(const Examined& host, const FrameworkBuild& installed) {
  const PythonEnvironment& python = *host.facts.python;
  if (!python.version || working_gpus(host).empty()) return std::nullopt;
  const auto release = two_part(installed.version);
  std::optional<TorchBuild> best;
  // What is kept, in this order: what a mirror has without further ado, then the installed release.
  int best_score = -1;
  for (const TorchBuild& build : torch_builds()) {
    if (*python.version < build.python_least || build.python_most < *python.version) continue;
    const int fitted = cards_fitted(build, host);
    if (fitted == 0 || !fits_driver(build, host)) continue;
    // The most cards before all else: an old display's card must not keep a good one from its
    // build.
    const int score = 4 * fitted + (has_mirror(python) && build.is_default ? 2 : 0) +
                      (release && *release == build.torch ? 1 : 0);
    if (score > best_score) {
      best = build;
      best_score = score;
    }
  }
  return best;
}

std::vector<Finding::Step> steps_to_replace(const Examined& host, const FrameworkBuild& installed,
                                            Wanted wanted) {
  // Which older CUDA a conda channel, jax or tensorflow has is in no table here.
  const bool by_table = installed.name == "torch" && installed.installer != "conda";
  if (wanted == Wanted::other_cuda && !by_table) return {};
  if (installed.name == "torch") return torch_steps(host, installed);
  if (installed.name == "jax") return jax_steps(host, installed);
  const Pip pip = pip_of(*host.facts.python, installed);
  const std::string interpreter = shell_quoted(host.facts.python->interpreter);
  const bool own = pip.note.empty();
  return {{own ? sentence("take the package with CUDA's libraries") : pip.note,
           (own ? fmt::format("{} -m pip uninstall -y tensorflow-cpu tensorflow && ", interpreter)
                : "") +
               pip.install + " 'tensorflow[and-cuda]'"}};
}

}  // namespace berth::doctor

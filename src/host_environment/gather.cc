#include "host_environment/gather.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "host_environment/python_environment.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

Absent why_absent(const Error& error) {
  switch (error.code()) {
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return Absent::unsupported;
    case ErrorCode::no_permission:
      return Absent::no_permission;
    case ErrorCode::busy:
    case ErrorCode::invalid:
    case ErrorCode::timeout:
    case ErrorCode::io:
      return Absent::failed;
  }
  return Absent::failed;
}

Reading<std::string> instance_type(const std::string& sys) {
  const std::string dmi = sys + "/class/dmi/id/";
  const auto vendor = read_file(dmi + "sys_vendor", 4096);
  const auto product = read_file(dmi + "product_name", 4096);
  if (!vendor) return why_absent(vendor.error());
  if (!product) return why_absent(product.error());
  return std::string(trimmed(*vendor)) + " " + std::string(trimmed(*product));
}

/// The first twelve of a container's 64 digits, as tools print it.
std::string container_id_in(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t at = text.find_first_of(digits); at != text.npos;
       at = text.find_first_of(digits, at)) {
    const std::size_t end = std::min(text.find_first_not_of(digits, at), text.size());
    if (end - at >= 32) return std::string(text.substr(at, 12));
    at = end;
  }
  return "";
}

Reading<std::string> container_of_self(const GatherRoots& roots) {
  const auto text = read_file(roots.proc + "/self/cgroup");
  if (!text) return why_absent(text.error());
  constexpr std::array<std::string_view, 4> makers = {"docker", "libpod", "kubepods", "lxc"};
  for (const std::string_view maker : makers) {
    const std::size_t at = text->find(maker);
    if (at == std::string::npos) continue;
    const std::string id = container_id_in(std::string_view(*text).substr(at + maker.size()));
    return std::string(maker) + (id.empty() ? "" : " " + id);
  }
  std::error_code unknown;
  if (fs::exists(roots.docker_mark, unknown)) return std::string("docker");
  return std::string();
}

// --- git -------------------------------------------------------------------------------------

/// Where a work tree keeps its own state, and where what all work trees share.
struct GitDirectories {
  std::string own;
  std::string common;
};

std::optional<GitDirectories> git_directories(const std::string& root) {
  const std::string dot_git = root + "/.git";
  std::error_code unknown;
  if (fs::is_directory(dot_git, unknown)) return GitDirectories{dot_git, dot_git};
  const auto link = read_file(dot_git, 4096);  // "gitdir: /path": a work tree or a submodule
  if (!link || !link->starts_with("gitdir:")) return std::nullopt;
  const std::string_view target = trimmed(std::string_view(*link).substr(7));
  const std::string own = (fs::path(root) / target).lexically_normal();
  const auto common = read_file(own + "/commondir", 4096);
  return GitDirectories{
      own, common ? (fs::path(own) / trimmed(*common)).lexically_normal().string() : own};
}

Reading<std::string> commit_of_ref(const GitDirectories& git, const std::string& ref) {
  for (const std::string& directory : {git.own, git.common}) {
    const auto loose = read_file(directory + "/" + ref, 4096);
    if (loose) return std::string(trimmed(*loose));
  }
  const auto packed = read_file(git.common + "/packed-refs", 16 << 20);
  if (!packed) return why_absent(packed.error());
  for (const std::string_view line : split(*packed, '\n')) {
    if (line.ends_with(" " + ref)) return std::string(line.substr(0, line.find(' ')));
  }
  return Absent::unsupported;  // no commit yet
}

// --- Python ----------------------------------------------------------------------------------

constexpr std::array<std::string_view, 24> frameworks = {"accelerate",
                                                         "bitsandbytes",
                                                         "cupy",
                                                         "deepspeed",
                                                         "diffusers",
                                                         "flash_attn",
                                                         "flax",
                                                         "jax",
                                                         "jaxlib",
                                                         "keras",
                                                         "lightning",
                                                         "numpy",
                                                         "onnxruntime_gpu",
                                                         "pytorch_lightning",
                                                         "ray",
                                                         "scipy",
                                                         "tensorflow",
                                                         "torch",
                                                         "torchaudio",
                                                         "torchvision",
                                                         "transformers",
                                                         "triton",
                                                         "vllm",
                                                         "xformers"};

bool is_recorded(std::string_view package) {
  return package.starts_with("nvidia_") || package.starts_with("cupy_") ||
         std::find(frameworks.begin(), frameworks.end(), package) != frameworks.end();
}

/// The interpreter that the command runs: itself, or the one its "#!" line names.
std::optional<std::string> interpreter_of(const std::string& program,
                                          const std::string& search_path) {
  const auto is_python = [](const std::string& path) {
    return fs::path(path).filename().string().starts_with("python");
  };
  const auto path = find_executable(program, search_path);
  if (!path) return std::nullopt;
  if (is_python(*path)) return *path;
  const auto fd = open_fd(*path, 0);
  if (!fd) return std::nullopt;
  const auto text = read_file(*path, 1 << 18);
  if (!text || !text->starts_with("#!")) return std::nullopt;
  const std::string line(trimmed(std::string_view(*text).substr(2, text->find('\n') - 2)));
  const auto words = split(line, ' ');
  if (words.size() > 1 && words[0].ends_with("/env")) {
    const auto found = find_executable(std::string(words[1]), search_path);
    return found && is_python(*found) ? std::optional(*found) : std::nullopt;
  }
  const std::string named(words[0]);
  return is_python(named) ? std::optional(named) : std::nullopt;
}

/// "3.11" of "/usr/bin/python3.11", symlinks followed.
std::string version_in_name(const std::string& interpreter) {
  std::error_code unknown;
  const fs::path real = fs::canonical(interpreter, unknown);
  const std::string name = real.filename().string();
  return name.starts_with("python") ? name.substr(6) : std::string();
}

void add_packages(const std::string& directory, PythonFacts& facts,
                  std::vector<std::string>& folders) {
  folders.push_back(directory);
  const auto names = list_directory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    const auto package = package_from_directory(name);
    if (!package || !is_recorded(package->first)) continue;
    // What is found first shadows the rest, as on Python's own path.
    const bool known = std::any_of(facts.packages.begin(), facts.packages.end(),
                                   [&](const auto& one) { return one.first == package->first; });
    if (!known) facts.packages.push_back(*package);
  }
}

std::vector<FrameworkFacts> framework_facts(const std::vector<std::string>& folders) {
  std::vector<FrameworkFacts> facts;
  std::vector<std::pair<std::string, std::string>> packages;
  for (const FrameworkBuild& build : frameworks_in(folders, packages)) {
    FrameworkFacts one{.name = build.name, .version = build.version, .cuda = build.cuda.why()};
    if (const auto& cuda = build.cuda.get()) one.cuda = *cuda ? (*cuda)->text() : std::string();
    facts.push_back(std::move(one));
  }
  return facts;
}

}  // namespace

MachineFacts gather_machine(const GatherRoots& roots) {
  MachineFacts facts;
  facts.instance_type = instance_type(roots.sys);
  facts.container = container_of_self(roots);
  if (const auto release = read_file(roots.etc + "/os-release")) {
    auto name = value_in_lines(*release, "PRETTY_NAME", '=');
    if (name) std::erase(*name, '"');
    facts.operating_system = name ? Reading<std::string>(*name) : Absent::unsupported;
  } else {
    facts.operating_system = why_absent(release.error());
  }
  if (const auto cpus = read_file(roots.proc + "/cpuinfo", 16 << 20)) {
    const auto model = value_in_lines(*cpus, "model name", ':');
    facts.cpu_model = model ? Reading<std::string>(*model) : Absent::unsupported;
    std::uint64_t count = 0;
    for (const std::string_view line : split(*cpus, '\n')) {
      count += line.starts_with("processor") ? 1U : 0U;
    }
    facts.cpu_count = count;
  } else {
    facts.cpu_model = why_absent(cpus.error());
    facts.cpu_count = why_absent(cpus.error());
  }
  const auto memory = read_file(roots.proc + "/meminfo");
  const auto kibibytes = memory ? number_in_lines(*memory, "MemTotal") : std::nullopt;
  facts.memory_total = kibibytes ? Reading<Bytes>(Bytes(*kibibytes << 10)) : Absent::failed;
  return facts;
}

std::optional<GitFacts> gather_git(const std::string& directory) {
  std::error_code unknown;
  for (fs::path at = directory; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", unknown)) {
      const auto git = git_directories(at);
      if (!git) return std::nullopt;
      GitFacts facts{.root = at};
      const auto head = read_file(git->own + "/HEAD", 4096);
      if (!head) {
        facts.commit = why_absent(head.error());
        facts.branch = why_absent(head.error());
      } else if (head->starts_with("ref: ")) {
        const std::string ref(trimmed(std::string_view(*head).substr(5)));
        constexpr std::string_view heads = "refs/heads/";
        facts.branch = ref.starts_with(heads) ? ref.substr(heads.size()) : ref;
        facts.commit = commit_of_ref(*git, ref);
      } else {
        facts.branch = std::string();
        facts.commit = std::string(trimmed(*head));
      }
      return facts;
    }
    if (at == at.root_path()) break;
  }
  return std::nullopt;
}

std::optional<std::pair<std::string, std::string>> package_from_directory(std::string_view name) {
  for (const std::string_view ending : {".dist-info", ".egg-info"}) {
    if (!name.ends_with(ending)) continue;
    const std::string_view stem = name.substr(0, name.size() - ending.size());
    const std::size_t dash = stem.find('-');
    if (dash == stem.npos || dash == 0) return std::nullopt;
    const std::string_view rest = stem.substr(dash + 1);
    return std::pair(std::string(stem.substr(0, dash)),
                     std::string(rest.substr(0, rest.find("-py"))));
  }
  return std::nullopt;
}

std::optional<PythonFacts> gather_python(const std::vector<std::string>& command,
                                         const std::string& search_path) {
  const auto interpreter = interpreter_of(command.at(0), search_path);
  if (!interpreter) return std::nullopt;
  PythonFacts facts{.interpreter = *interpreter};
  const fs::path prefix = fs::path(*interpreter).parent_path().parent_path();
  std::string version = version_in_name(*interpreter);
  const auto config = read_file(prefix.string() + "/pyvenv.cfg", 1 << 16);
  if (config) {
    facts.environment = prefix;
    const auto exact = value_in_lines(*config, "version", '=');
    const auto info = value_in_lines(*config, "version_info", '=');
    facts.version = exact  ? Reading<std::string>(*exact)
                    : info ? Reading<std::string>(*info)
                           : Absent::unsupported;
  } else {
    // "python3" alone is a shim's name, which starts who knows which.
    const bool is_told = version.find('.') != std::string::npos;
    facts.version = is_told ? Reading<std::string>(version) : Absent::unsupported;
  }
  std::error_code unknown;
  if (fs::exists(prefix / "conda-meta", unknown)) facts.environment = prefix;
  const std::string library = prefix.string() + "/lib/python" + version;
  std::vector<std::string> folders;
  add_packages(library + "/site-packages", facts, folders);
  // Debian's folders are Debian's interpreter's, and of environments that were made to see through
  // to it.
  const bool sees_system =
      config
          ? value_in_lines(*config, "include-system-site-packages", '=').value_or("") == "true" &&
                value_in_lines(*config, "home", '=').value_or("") == "/usr/bin"
          : prefix == "/usr";
  if (sees_system) {
    add_packages("/usr/local/lib/python" + version + "/dist-packages", facts, folders);
    add_packages("/usr/lib/python3/dist-packages", facts, folders);
  }
  facts.frameworks = framework_facts(folders);
  std::sort(facts.packages.begin(), facts.packages.end());
  return facts;
}

}  // namespace berth

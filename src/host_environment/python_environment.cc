#include "host_environment/python_environment.h"

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "host_environment/gather.h"
#include "host_environment/python_files.h"

namespace berth {

namespace {

constexpr std::size_t small_file = 1 << 18;

struct Interpreter {
  std::string path;
  std::string found_by;
};

Result<Interpreter> find_interpreter(const PythonQuestion& question) {
  if (!question.given.empty()) {
    if (!is_directory(question.given)) {
      auto path = find_executable(question.given, question.search_path);
      if (!path) return std::unexpected(std::move(path).error());
      return Interpreter{std::move(*path), "--python"};
    }
    for (const char* name : {"/bin/python", "/bin/python3"}) {
      if (is_there(question.given + name)) return Interpreter{question.given + name, "--python"};
    }
    return fail(ErrorCode::not_found, "there is no bin/python in {}", question.given);
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = value_of(question.environment, name);
    if (prefix && !prefix->empty() && is_there(*prefix + "/bin/python")) {
      return Interpreter{*prefix + "/bin/python", name};
    }
  }
  for (const char* name : {"python", "python3"}) {
    if (auto path = find_executable(name, question.search_path)) {
      return Interpreter{std::move(*path), "PATH"};
    }
  }
  return fail(ErrorCode::not_found, "there is no python in PATH");
}

/// What the interpreter says of itself, into `python`; the rest is how that went.
InterpreterAnswer ask_interpreter(const PythonQuestion& question, Clock& clock,
                                  PythonEnvironment& python) {
  constexpr const char* script =
      "import sys\n"
      "print('version\\t%d.%d' % sys.version_info[:2])\n"
      "print('prefix\\t' + sys.prefix)\n"
      "for p in sys.path: print('folder\\t' + p)\n";
  const auto answer = answer_of({python.interpreter, "-c", script}, question.environment,
                                question.search_path, clock, interpreter_patience);
  if (!answer) return {.end = InterpreterEnd::not_started, .wrote = answer.error().message()};
  if (!answer->exit) return {.end = InterpreterEnd::took_too_long};
  const Exit exit = *answer->exit;
  const std::string wrote = last_line_of(answer->err);
  if (exit.signal != 0) return {InterpreterEnd::crashed, exit.signal, wrote};
  if (exit.code != 0) return {InterpreterEnd::failed, exit.code, wrote};
  for (const std::string_view line : split(answer->out, '\n')) {
    const std::size_t tab = line.find('\t');
    if (tab == line.npos) continue;
    const std::string value(line.substr(tab + 1));
    if (line.starts_with("version")) python.version = two_part(value);
    if (line.starts_with("prefix")) python.environment = value;
    // The first of sys.path is "": the working directory, which is no place for packages.
    if (line.starts_with("folder") && value.starts_with('/')) python.folders.push_back(value);
  }
  if (python.version && !python.folders.empty()) return {.end = InterpreterEnd::answered};
  return {.end = InterpreterEnd::not_python, .wrote = wrote};
}

/// Those that are there of an interpreter's folders for packages; Debian's has names of its own.
void add_site_folders(const std::string& prefix, TwoPart version,
                      std::vector<std::string>& folders) {
  const std::string named = "/python" + version.text();
  for (const std::string& folder :
       {"/lib" + named + "/site-packages", "/lib64" + named + "/site-packages",
        "/local/lib" + named + "/dist-packages", std::string("/lib/python3/dist-packages")}) {
    // An environment's lib64 is its lib.
    std::error_code unknown;
    const bool is_second =
        folder.starts_with("/lib64") && std::filesystem::is_symlink(prefix + "/lib64", unknown);
    if (!is_second && is_there(prefix + folder)) folders.push_back(prefix + folder);
  }
}

/// ~/.local, from which Python takes packages before the system's.
void add_user_folder(const PythonQuestion& question, TwoPart version,
                     std::vector<std::string>& folders) {
  if (!value_of(question.environment, "PYTHONNOUSERSITE").value_or("").empty()) return;
  std::string base = value_of(question.environment, "PYTHONUSERBASE").value_or("");
  const std::string home = value_of(question.environment, "HOME").value_or("");
  if (base.empty() && !home.empty()) base = home + "/.local";
  if (!base.empty()) add_site_folders(base, version, folders);
}

/// The same from the files around it. Of a program that gave no answer they are believed only if
/// its name or environment is Python's. /usr/lib/python3 is not /bin/ls's.
void read_interpreter(const PythonQuestion& question, PythonEnvironment& python) {
  const std::string bin = python.interpreter.substr(0, python.interpreter.rfind('/'));
  const std::string prefix = bin.substr(0, bin.rfind('/'));
  const bool is_asked = python.answer.end != InterpreterEnd::not_asked;
  const bool is_python = python.interpreter.find("python", bin.size()) != std::string::npos;
  if (is_asked && !is_python && !is_there(prefix + "/pyvenv.cfg")) return;
  python.environment = prefix;
  const auto config = read_file(prefix + "/pyvenv.cfg", small_file);
  if (config) {
    const auto version = value_in_lines(*config, "version", '=');
    const auto info = value_in_lines(*config, "version_info", '=');
    if (version) python.version = two_part(*version);
    if (!python.version && info) python.version = two_part(*info);
  }
  for (const std::string& name : entries_in(prefix + "/lib")) {
    if (!python.version && name.starts_with("python3.")) {
      python.version = two_part(std::string_view(name).substr(6));
    }
  }
  if (!python.version) return;
  const std::string first = value_of(question.environment, "PYTHONPATH").value_or("");
  for (const std::string_view folder : split(first, ':')) {
    if (folder.starts_with('/')) python.folders.emplace_back(folder);
  }
  const std::string shared =
      config ? value_in_lines(*config, "include-system-site-packages", '=').value_or("") : "";
  const bool sees_system = equals_ignoring_case(shared, "true");
  if (!config) add_user_folder(question, *python.version, python.folders);
  add_site_folders(prefix, *python.version, python.folders);
  if (!sees_system) return;
  add_user_folder(question, *python.version, python.folders);
  // "home" is the bin of the Python that it was made with.
  const std::string home = value_in_lines(*config, "home", '=').value_or("");
  const std::size_t slash = home.rfind('/');
  if (slash != 0 && slash != home.npos) {
    add_site_folders(home.substr(0, slash), *python.version, python.folders);
  }
}

void read_pip_index(const PythonQuestion& question, PythonEnvironment& python) {
  for (const char* name : {"PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"}) {
    const auto value = value_of(question.environment, name);
    if (!value || value->empty() || !python.index_url.empty()) continue;
    python.index_url = *value;
    python.index_source = name;
  }
  std::vector<std::string> files = {python.environment + "/pip.conf"};
  if (const auto home = value_of(question.environment, "HOME")) {
    files.push_back(*home + "/.config/pip/pip.conf");
    files.push_back(*home + "/.pip/pip.conf");
  }
  if (const auto named = value_of(question.environment, "PIP_CONFIG_FILE")) files.push_back(*named);
  files.push_back(question.root + "/etc/pip.conf");
  for (const std::string& file : files) {
    if (!python.index_url.empty()) return;
    const auto text = read_file(file, small_file);
    if (!text) continue;
    python.index_url = parse_pip_index(*text);
    if (!python.index_url.empty()) python.index_source = file;
  }
}

/// In conda's order of precedence; which one holds what the others do not is conda's own to sort.
void read_conda_channels(const PythonQuestion& question, PythonEnvironment& python) {
  std::vector<std::string> files;
  if (const auto named = value_of(question.environment, "CONDARC")) files.push_back(*named);
  files.push_back(python.environment + "/.condarc");
  if (const auto home = value_of(question.environment, "HOME")) {
    for (const char* name : {"/.condarc", "/.conda/.condarc", "/.config/conda/.condarc"}) {
      files.push_back(*home + name);
    }
  }
  files.push_back(question.root + "/etc/conda/.condarc");
  for (const std::string& file : files) {
    const auto text = read_file(file, small_file);
    if (!text || !names_conda_channels(*text)) continue;
    python.channels_source = file;
    return;
  }
}

// --- frameworks ------------------------------------------------------------------------------

bool is_of_a_framework(std::string_view package) {
  constexpr std::string_view beginnings[] = {"nvidia_",    "jax",    "tensorflow",
                                             "torch",      "triton", "cupy",
                                             "tf_nightly", "numpy",  "intel_extension_for_pytorch"};
  return std::ranges::any_of(beginnings, [&](auto begin) { return package.starts_with(begin); });
}

const std::string* version_of(const std::vector<std::pair<std::string, std::string>>& packages,
                              std::string_view name) {
  for (const auto& [package, version] : packages) {
    if (package == name) return &version;
  }
  return nullptr;
}

std::string installer_of(const std::string& folder, std::string_view name,
                         const std::string& version) {
  const auto text =
      read_file(folder + "/" + std::string(name) + "-" + version + ".dist-info/INSTALLER", 256);
  return text ? std::string(trimmed(*text)) : std::string();
}

std::optional<FrameworkBuild> torch_in(
    const std::string& folder, const std::vector<std::pair<std::string, std::string>>& packages) {
  const std::string file = folder + "/torch/version.py";
  const auto text = read_file(file, small_file);
  if (!text) return std::nullopt;
  const TorchVersionFile said = parse_torch_version(*text);
  const std::string* installed = version_of(packages, "torch");
  FrameworkBuild build{.name = "torch", .where = folder, .cuda = said.cuda, .cuda_source = file};
  build.version = !said.version.empty() ? said.version : installed != nullptr ? *installed : "";
  build.is_rocm = said.is_rocm;
  build.installer =
      installer_of(folder, "torch", installed != nullptr ? *installed : build.version);
  return build;
}

std::optional<FrameworkBuild> tensorflow_in(
    const std::string& folder, const std::vector<std::pair<std::string, std::string>>& packages) {
  const std::string file = folder + "/tensorflow/python/platform/build_info.py";
  const auto text = read_file(file, small_file);
  if (!text) return std::nullopt;
  const TensorFlowBuildFile said = parse_tensorflow_build(*text);
  FrameworkBuild build{
      .name = "tensorflow", .where = folder, .cuda = said.cuda, .cuda_source = file};
  for (const char* name : {"tensorflow", "tensorflow_cpu", "tf_nightly"}) {
    const std::string* version = version_of(packages, name);
    if (version == nullptr || !build.version.empty()) continue;
    build.version = *version;
    build.installer = installer_of(folder, name, *version);
  }
  build.architectures = said.architectures;
  build.has_ptx = said.has_ptx;
  build.cudnn_major = said.cudnn_major;
  return build;
}

/// jaxlib alone computes on the CPU; CUDA is a plugin of its own ("jax_cuda12_plugin"), and before
/// 0.4.26 a part of jaxlib's version ("0.4.20+cuda12.cudnn89").
std::optional<FrameworkBuild> jax_in(
    const std::string& folder, const std::vector<std::pair<std::string, std::string>>& packages) {
  const std::string* library = version_of(packages, "jaxlib");
  if (library == nullptr || !is_there(folder + "/jaxlib")) return std::nullopt;
  FrameworkBuild build{.name = "jax", .version = *library, .where = folder};
  build.cuda = std::optional<TwoPart>();
  build.cuda_source = folder + "/jaxlib-" + *library + ".dist-info";
  build.installer = installer_of(folder, "jaxlib", *library);
  if (const std::size_t at = library->find("+cuda"); at != library->npos) {
    build.cuda = two_part(std::string_view(*library).substr(at + 5));
  }
  for (const auto& [name, version] : packages) {
    if (!name.starts_with("jax_cuda") || !name.ends_with("_plugin")) continue;
    build.cuda = two_part(std::string_view(name).substr(8));
    build.cuda_source = name + " " + version;
  }
  return build;
}

}  // namespace

std::vector<FrameworkBuild> frameworks_in(
    const std::vector<std::string>& folders,
    std::vector<std::pair<std::string, std::string>>& packages) {
  std::vector<FrameworkBuild> found;
  for (const std::string& folder : folders) {
    const auto names = list_directory(folder);
    if (!names) continue;
    for (const std::string& name : *names) {
      const auto package = package_from_directory(name);
      if (!package || !is_of_a_framework(package->first)) continue;
      // What is found first shadows the rest, as on Python's own path.
      if (version_of(packages, package->first) == nullptr) packages.push_back(*package);
    }
  }
  for (const std::string& folder : folders) {
    for (const auto read : {torch_in, tensorflow_in, jax_in}) {
      auto build = read(folder, packages);
      const bool known =
          build && std::ranges::find(found, build->name, &FrameworkBuild::name) != found.end();
      if (build && !known) found.push_back(std::move(*build));
    }
  }
  std::ranges::sort(packages);
  return found;
}

Result<PythonEnvironment> gather_python_environment(const PythonQuestion& question, Clock& clock) {
  auto interpreter = find_interpreter(question);
  if (!interpreter) return std::unexpected(std::move(interpreter).error());
  PythonEnvironment python{.interpreter = interpreter->path, .found_by = interpreter->found_by};
  if (question.may_run) python.answer = ask_interpreter(question, clock, python);
  if (python.answer.end != InterpreterEnd::answered) {
    python.version.reset();
    python.folders.clear();
    read_interpreter(question, python);
  }
  python.is_conda = is_there(python.environment + "/conda-meta");
  const bool is_virtual = is_there(python.environment + "/pyvenv.cfg");
  if (!is_virtual && python.version) {
    python.is_managed = is_there(question.root + "/usr/lib/python" + python.version->text() +
                                 "/EXTERNALLY-MANAGED") &&
                        python.environment == "/usr";
  }
  read_pip_index(question, python);
  if (python.is_conda) read_conda_channels(question, python);
  if (!is_virtual && !python.is_conda) python.environment.clear();
  python.frameworks = frameworks_in(python.folders, python.packages);
  return python;
}

}  // namespace berth

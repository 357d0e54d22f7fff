#pragma once
// HostFacts: what a user's programs meet on this machine besides its devices. That is the
// interpreter and its frameworks, the libraries that the loader finds, limits and folders. It is
// also the kernel's side of the driver. Plain values, gathered once by gather_host_facts() and only
// read afterwards.
// A part that is `std::optional` and empty was not looked at.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "base/sentence.h"
#include "base/units.h"
#include "base/variables.h"
#include "host_environment/cdi.h"
#include "snapshot/device.h"

namespace berth {

/// "3.11", "12.8": compared as numbers.
struct TwoPart {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const TwoPart&, const TwoPart&) = default;
  [[nodiscard]] std::string text() const {
    return std::to_string(major) + "." + std::to_string(minor);
  }
};
/// The first two numbers of a version, "12.8.1+x" is 12.8, "13" is 13.0. Nothing: not a version.
[[nodiscard]] std::optional<TwoPart> two_part(std::string_view text);

/// A version of any length, compared part by part: "535.104.05" < "535.104.12" < "580".
[[nodiscard]] bool is_older_version(std::string_view a, std::string_view b);

/// One framework as its files describe it, nothing imported.
struct FrameworkBuild {
  std::string name;       // "torch", "tensorflow", "jax"
  std::string version;    // "2.3.1+cu121"
  std::string where;      // the folder it was found in
  std::string installer;  // "pip", "uv", "conda"; empty: its files do not say
  /// What it was built for. A value without a number: a build without CUDA.
  /// Absent: unsupported: none of its files says so.
  Reading<std::optional<TwoPart>> cuda;
  std::string cuda_source;  // the file or wheel that says so
  /// The compute capabilities with code in it; empty: no file says.
  std::vector<ComputeCapability> architectures;
  bool has_ptx = false;  // code for newer ones can be made from what is in it
  bool is_rocm = false;
  std::optional<int> cudnn_major;  // the cuDNN it was built with; nothing: no file says
  friend bool operator==(const FrameworkBuild&, const FrameworkBuild&) = default;
};

/// What a child process of the interpreter said of one framework after importing it.
struct FrameworkSaid {
  std::string name;
  std::string version;
  std::optional<bool> sees_gpu;
  std::optional<int> devices;
  std::vector<ComputeCapability> architectures;
  bool has_ptx = false;  // and code that a newer card's driver compiles when it is loaded
  std::optional<bool> has_mkl;
  std::optional<int> threads;
  std::string error;    // what importing or asking raised; empty: nothing
  std::string warning;  // the last of what it wrote to stderr; empty: nothing
  friend bool operator==(const FrameworkSaid&, const FrameworkSaid&) = default;
};
/// How the child went. `not_asked` by --no-import, or there is no framework to ask.
enum class ImportEnd { not_asked, answered, took_too_long, crashed, not_started };
struct ImportAnswer {
  ImportEnd end = ImportEnd::not_asked;
  std::string detail;  // "signal 11", what could not be started; empty where it answered
  std::vector<FrameworkSaid> frameworks;
  friend bool operator==(const ImportAnswer&, const ImportAnswer&) = default;
};

/// What came of asking the interpreter itself for its version and its folders. `not_python` it
/// ended as if all were well and told neither.
enum class InterpreterEnd {
  not_asked,
  answered,
  took_too_long,
  crashed,
  failed,
  not_python,
  not_started
};
struct InterpreterAnswer {
  InterpreterEnd end = InterpreterEnd::not_asked;
  int code = 0;       // failed: its exit code; crashed: the signal
  std::string wrote;  // the last of its stderr, or why it was not started; empty: nothing
  friend bool operator==(const InterpreterAnswer&, const InterpreterAnswer&) = default;
};

struct PythonEnvironment {
  std::string interpreter;
  std::string found_by;     // "--python", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH"
  std::string environment;  // the virtual or conda environment's folder; empty: none
  bool is_conda = false;
  bool is_managed = false;  // the system's own (EXTERNALLY-MANAGED): pip refuses to change it
  std::optional<TwoPart> version;
  std::vector<std::string> folders;  // where its packages lie, in the order they are looked in
  std::vector<std::pair<std::string, std::string>> packages;  // name, version; those that matter
  std::vector<FrameworkBuild> frameworks;
  /// Where pip takes packages from, if somebody set it, and which file or variable says so.
  std::string index_url;
  std::string index_source;
  /// Which of conda's settings names channels of the user's own; empty: none, or it is not conda's.
  std::string channels_source;
  InterpreterAnswer answer;
  ImportAnswer said;
  /// Whether the absence of a framework can be told. Then the interpreter told where its packages
  /// lie; or it was not asked, and the files around it told.
  [[nodiscard]] bool is_known() const;
  [[nodiscard]] const FrameworkBuild* framework(std::string_view name) const;
  /// What it said of itself. Null: it was not asked, or was not reached.
  [[nodiscard]] const FrameworkSaid* said_of(std::string_view name) const;
};

/// A library of CUDA where the loader, a variable or a folder name leads to it.
struct FoundLibrary {
  std::string name;         // "libcudart"
  std::string path;         // as it was found
  std::string version;      // of the file behind it, "12.1.105"; empty: its name does not say
  std::string via;          // "LD_LIBRARY_PATH", "loader", "/usr/local/cuda"
  std::string behind = {};  // the file behind its links; empty: it is that itself
  friend bool operator==(const FoundLibrary&, const FoundLibrary&) = default;
};
/// What CUDA_HOME (else CUDA_PATH) names.
struct CudaHome {
  std::string variable;
  std::string folder;
  bool is_there = false;
  std::optional<TwoPart> version;  // nothing: its files do not say
  friend bool operator==(const CudaHome&, const CudaHome&) = default;
};
struct Libraries {
  std::vector<FoundLibrary> found;
  std::string nvcc;                     // its path; empty: not in PATH nor below /usr/local/cuda
  std::optional<TwoPart> nvcc_version;  // of its toolkit
  bool nvcc_in_path = false;
  std::string toolkit;  // where /usr/local/cuda leads; empty: there is none
  std::optional<TwoPart> toolkit_version;
  std::optional<CudaHome> home;  // nothing: neither variable is set
  /// Those of them that LD_PRELOAD names, and its words that name no file.
  std::vector<FoundLibrary> preloaded;
  std::vector<std::string> preload_missing;
  friend bool operator==(const Libraries&, const Libraries&) = default;
};

/// A slice of a card that MIG divides (a GPU instance). The kernel lists no compute instance of it:
/// CUDA's devices are made of those.
struct HollowInstance {
  std::uint64_t minor_number = 0;  // the card's
  unsigned gpu_instance = 0;
  friend bool operator==(const HollowInstance&, const HollowInstance&) = default;
};

/// The kernel's side of the driver.
struct KernelSide {
  Reading<std::string> release;
  /// The loaded nvidia module's version. unsupported: it is not loaded.
  Reading<std::string> module_version;
  /// unsupported: this machine has no UEFI, or its variables are not shown here.
  Reading<bool> secure_boot;
  /// Whether a file of the nvidia module exists for the running kernel.
  Reading<bool> module_installed;
  /// A Windows host's devices (WSL): no kernel module of Linux's.
  bool is_wsl = false;
  std::vector<HollowInstance> hollow_instances;
  friend bool operator==(const KernelSide&, const KernelSide&) = default;
};

/// What opening a device file came to. `blocked` the kernel forbids it although the file's own
/// permissions do not (a cgroup); `forbidden` its permissions do.
enum class FileAccess { opens, missing, forbidden, blocked, fails };
struct DeviceFile {
  std::string path;
  FileAccess access = FileAccess::opens;
  std::string mode;  // "crw-rw---- 0:44"; empty: missing
  friend bool operator==(const DeviceFile&, const DeviceFile&) = default;
};

struct Limits {
  Reading<std::string> cpu_vendor;  // "GenuineIntel", "AuthenticAMD"
  Reading<std::uint64_t> cpus_online;
  Reading<std::uint64_t> cpus_allowed;  // by affinity
  /// CPUs that the control group's quota comes to; unsupported: no quota.
  Reading<double> cpu_quota;
  Reading<Bytes> memory_total;
  Reading<Bytes> memory_available;
  Reading<Bytes> memory_limit;  // of the control group; unsupported: none
  Reading<Bytes> memory_charged;
  Reading<Bytes> swap_total;
  Reading<Bytes> swap_free;
  Reading<Bytes> shared_memory_total;  // /dev/shm
  Reading<Bytes> shared_memory_free;
  Reading<std::uint64_t> open_files;       // soft limit
  Reading<std::uint64_t> open_files_hard;  // hard limit
  Reading<std::string> governor;           // of the first CPU
  Reading<std::string> frequency_driver;   // "intel_pstate", "acpi-cpufreq"
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// What reading one file from its beginning came to.
struct ReadSpeed {
  std::string file;  // its name in the folder
  Bytes bytes;
  std::int64_t microseconds = 1;
  /// The part of these bytes, 0 to 1, that the kernel had in memory before. A disk's or a server's
  /// own cache does not count. unsupported: the kernel does not say.
  Reading<double> cached;
  /// 10^6 bytes per second.
  [[nodiscard]] double megabytes_per_second() const {
    return static_cast<double>(bytes.count()) / static_cast<double>(microseconds);
  }
  friend bool operator==(const ReadSpeed&, const ReadSpeed&) = default;
};

struct WorkingDirectory {
  std::string path;
  std::string file_system;  // "ext4", "nfs4", "fuse.sshfs"; empty: not told
  Reading<Bytes> total;
  Reading<Bytes> free;
  /// What opening one file there takes, on the mean of a few.
  Reading<std::int64_t> open_microseconds;
  /// not_sampled: nobody asked for it. unsupported: there is no file to read. failed: reading was
  /// not done in its time.
  Reading<ReadSpeed> read_speed;
  friend bool operator==(const WorkingDirectory&, const WorkingDirectory&) = default;
};

/// What starts containers on this machine, and what would give them its GPUs.
struct ContainerTools {
  struct Engine {
    std::string name;  // "docker", "podman", "containerd"
    std::string path;  // the file or folder that says it is used here
    friend bool operator==(const Engine&, const Engine&) = default;
  };
  /// A local image that sets CUDA_VISIBLE_DEVICES for every container made of it.
  struct Image {
    std::string engine;
    std::string name;
    std::string value;
    friend bool operator==(const Image&, const Image&) = default;
  };
  /// A container that runs with the label of a run, which anybody can set.
  struct Labelled {
    std::string engine;
    std::string id;
    std::string run;
    friend bool operator==(const Labelled&, const Labelled&) = default;
  };
  std::vector<Engine> engines;
  std::string toolkit;   // of NVIDIA's container toolkit, or a setting that names it; empty: none
  std::string cdi_spec;  // a CDI description of NVIDIA's; empty: none
  CdiSpecs cdi = {};     // all of them, as engines read them
  /// Versions of the engines that answered: "podman", "4.3.1".
  std::vector<std::pair<std::string, std::string>> versions = {};
  std::vector<Image> images = {};
  std::vector<Labelled> labelled = {};
  friend bool operator==(const ContainerTools&, const ContainerTools&) = default;
};

/// A container of an ended run that lives on outside any lease.
struct ContainerLeft {
  std::string run;
  std::string engine;
  std::string id;
  friend bool operator==(const ContainerLeft&, const ContainerLeft&) = default;
};

/// One device as CUDA numbers it in a program started from here.
struct CudaDevice {
  std::string uuid;  // without "GPU-" or "MIG-" in front
  std::string name;
  friend bool operator==(const CudaDevice&, const CudaDevice&) = default;
};
/// What libcuda itself answers, asked in a process of its own.
struct CudaAnswer {
  std::vector<CudaDevice> devices;  // cuda:0, cuda:1, …
  std::string problem;              // why it could not be asked, or what it answered; empty: none
  int code = 0;                     // its error (CUresult); 0: none
  bool is_absent = false;           // the library cannot be loaded
  bool took_too_long = false;
  friend bool operator==(const CudaAnswer&, const CudaAnswer&) = default;
};

struct HostFacts {
  std::vector<Variable> variables;  // those that matter, secrets masked
  std::optional<PythonEnvironment> python;
  Sentence python_problem;  // why there is none; empty: not looked for, or found
  std::optional<Libraries> libraries;
  std::optional<KernelSide> kernel;
  std::vector<DeviceFile> device_files;
  Reading<std::string> container;  // as MachineFacts::container
  std::optional<ContainerTools> container_tools;
  std::vector<ContainerLeft> containers_left;
  /// Labelled containers without a lease or a record of the caller.
  std::vector<ContainerTools::Labelled> containers_unrecorded;
  std::optional<Limits> limits;
  std::optional<WorkingDirectory> directory;
  std::optional<CudaAnswer> cuda;       // with the caller's CUDA_VISIBLE_DEVICES
  std::vector<std::string> interfaces;  // network interfaces; empty: not looked at
  /// Files of the working directory that Python would import in place of a framework.
  std::vector<std::string> shadowing;
  /// Folders that did not answer in time (a network file system whose server is gone); nothing in
  /// them was looked at.
  std::vector<std::string> silent_folders;

  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
};

}  // namespace berth

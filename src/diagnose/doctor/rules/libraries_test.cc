#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Examined tensorflow_host() {
  Examined host = healthy();
  host.facts.python->frameworks = {
      {.name = "tensorflow", .version = "2.16.1", .cuda = std::optional(TwoPart{12, 3})}};
  host.facts.python->said = {};
  return host;
}

TEST(DoctorTensorflowLibrariesMissing, WithoutThemItGoesOnWithTheCpu) {
  Examined host = tensorflow_host();
  EXPECT_EQ(told(host),
            "error tensorflow_libraries_missing: there is neither a package nvidia-cudnn-cu12 nor "
            "a libcudnn.so where the loader looks");
  host.facts.libraries.reset();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody looked";
  host = tensorflow_host();
  host.facts.python->frameworks[0].cuda = std::optional<TwoPart>();
  EXPECT_EQ(only(host).rule, "tensorflow_cpu_only");
}

TEST(DoctorTensorflowLibrariesMissing, InWheelsInTheSystemOrInUseTheyAreThere) {
  Examined host = tensorflow_host();
  host.facts.python->packages.emplace_back("nvidia_cudnn_cu12", "8.9.7.29");
  EXPECT_THAT(rules_of(host), IsEmpty());
  host = tensorflow_host();
  host.facts.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host = tensorflow_host();
  host.facts.python->is_conda = true;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "conda's lie where berth does not look";
  host = tensorflow_host();
  host.facts.python->said.frameworks = {{.name = "tensorflow", .sees_gpu = true}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorCudnnOfAnotherMajor, ThanTensorflowsBuild) {
  Examined host = healthy();
  host.facts.python->frameworks = {{.name = "tensorflow",
                                    .version = "2.18.0",
                                    .cuda = std::optional(TwoPart{12, 5}),
                                    .cuda_source = "build_info.py",
                                    .cudnn_major = 9}};
  host.facts.python->said = {};
  host.facts.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "loader"}};
  EXPECT_EQ(told(host),
            "error cudnn_of_another_major: tensorflow 2.18.0 was built with cuDNN 9 "
            "(build_info.py); there is /c/libcudnn.so.8.9.2");
  host.facts.python->packages = {{"nvidia_cudnn_cu12", "9.3.0.75"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the environment brings its own";
  host.facts.python->packages.clear();
  host.facts.libraries->found.push_back({"libcudnn", "/d/libcudnn.so.9.1.0", "9.1.0", "loader"});
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the loader takes the one of that name";
}

TEST(DoctorLibraryPathStubs, StubInTheDriversPlace) {
  Examined host = healthy();
  host.facts.libraries->found = {
      {"libcuda", "/opt/cuda/lib64/stubs/libcuda.so", "", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(told(host),
            "error library_path_stubs: LD_LIBRARY_PATH leads to /opt/cuda/lib64/stubs/libcuda.so");
  host.facts.libraries->found[0].via = "loader";
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.libraries->found = {
      {"libcudart", "/opt/cuda/lib64/stubs/libcudart.so", "", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not the driver's";
}

TEST(DoctorLibraryPathStubs, AlsoBehindALinkInTheLoadersFoldersAndWithoutACard) {
  Examined host = without_driver(Unusable::none, Absent::unsupported);
  host.facts.libraries->found = {
      {"libcuda", "/home/ada/libcuda.so.1", "1", "LD_LIBRARY_PATH", "/opt/stubs/libcuda.so"}};
  EXPECT_EQ(told(named("library_path_stubs", host)),
            "error library_path_stubs: LD_LIBRARY_PATH leads to /home/ada/libcuda.so.1 -> "
            "/opt/stubs/libcuda.so");
  host.facts.libraries->found = {{"libcuda", "/opt/stubs/libcuda.so.1", "1", "loader"}};
  EXPECT_EQ(told(named("library_path_stubs", host)),
            "error library_path_stubs: the loader's own folders have /opt/stubs/libcuda.so.1");
}

TEST(DoctorLibraryPathOtherDriver, LibcudaOfAnotherDriverOrOfNone) {
  Examined host = healthy();
  const auto lies_at = [&](const char* path, const char* behind = "") {
    host.facts.libraries->found = {{"libcuda", path, "", "LD_LIBRARY_PATH", behind}};
  };
  for (const char* well :
       {"/a/libcuda.so.580.65.06", "/a/libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.590.10"}) {
    lies_at(well);
    EXPECT_THAT(rules_of(host), IsEmpty()) << well;
  }
  lies_at("/a/libcuda.so.535.104.05");
  EXPECT_EQ(told(host),
            "warning library_path_other_driver: LD_LIBRARY_PATH leads to "
            "/a/libcuda.so.535.104.05; the driver is 580.65.06");
  lies_at("/a/libcuda.so.1", "/b/libcuda.so.535.104.05");
  EXPECT_EQ(only(host).rule, "library_path_other_driver");
  host = without_driver(Unusable::none, Absent::unsupported);
  host.snapshot.devices.clear();
  host.snapshot.host = {};
  lies_at("/a/libcuda.so.1");
  EXPECT_EQ(told(named("library_path_other_driver", host)),
            "hint library_path_other_driver: LD_LIBRARY_PATH leads to /a/libcuda.so.1; no NVIDIA "
            "driver is loaded here");
  host.facts.kernel->is_wsl = true;
  EXPECT_THAT(rules_of(host), testing::Not(testing::Contains("library_path_other_driver")));
}

TEST(DoctorLibraryTwice, TwoVersionsOfOneSoname) {
  Examined host = healthy();
  host.facts.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "LD_LIBRARY_PATH"},
                                 {"libcudnn", "/a/libcudnn.so.9.0.0", "9.0.0", "LD_LIBRARY_PATH"},
                                 {"libcudnn", "/b/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(told(host),
            "hint library_twice: /a/libcudnn.so.9.0.0 comes first; then /b/libcudnn.so.9.1.0");
  EXPECT_FALSE(only(host).doubt.empty());
  host.facts.libraries->found.erase(host.facts.libraries->found.begin() + 1);
  EXPECT_THAT(rules_of(host), IsEmpty()) << "8 and 9 have names of their own for the loader";
}

TEST(DoctorLibraryTwice, OnesThatTheLoaderFindsByItselfOrThatAreTheDriversAreWell) {
  Examined host = healthy();
  host.facts.libraries->found = {{"libcudnn", "/a/libcudnn.so.9.0.0", "9.0.0", "loader"},
                                 {"libcudnn", "/b/libcudnn.so.9.1.0", "9.1.0", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.libraries->found = {
      {"libcuda", "/a/libcuda.so.580.65.06", "580.65.06", "LD_LIBRARY_PATH"},
      {"libcuda", "/b/libcuda.so.580.82.07", "580.82.07", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorLibraryTwice, RuntimeOfCuda11HasItsMinorNumberInItsName) {
  Examined host = healthy();
  const auto pair = [&](const char* first, const char* second) {
    host.facts.libraries->found = {{"libcudart", "/a", first, "LD_LIBRARY_PATH"},
                                   {"libcudart", "/b", second, "LD_LIBRARY_PATH"}};
    return rules_of(host);
  };
  EXPECT_THAT(pair("11.8.89", "11.7.60"), IsEmpty());
  EXPECT_THAT(pair("12.9.79", "12.8.90"), ElementsAre("library_twice"));
}

TEST(DoctorLibraryPathOldCuda, OlderCudaInFrontOfTheFrameworks) {
  Examined host = healthy();
  FoundLibrary old{"libcudart", "/cuda/lib64/libcudart.so.12.2.140", "12.2.140", "LD_LIBRARY_PATH"};
  host.facts.libraries->found = {old};
  EXPECT_THAT(told(host), HasSubstr("hint library_path_old_cuda: LD_LIBRARY_PATH leads to "
                                    "/cuda/lib64/libcudart.so.12.2.140; torch 2.9.1+cu128 was "
                                    "built for CUDA 12.8"));
  EXPECT_FALSE(only(host).doubt.empty());
  for (const char* version : {"12.8.90", "12.9.79", "11.8.89", "12", "13.0.48"}) {
    host.facts.libraries->found[0].version = version;
    EXPECT_THAT(rules_of(host), IsEmpty()) << version;
  }
  host.facts.libraries->found = {old};
  host.facts.libraries->found[0].via = "loader";
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.libraries->found = {old};
  host.facts.python->said.frameworks[0].error = "ImportError: __nvJitLinkComplete_12_4";
  EXPECT_THAT(rules_of(host), ElementsAre("import_failed", "library_path_old_cuda"));
  EXPECT_EQ(named("library_path_old_cuda", host).severity, Severity::warning);
}

TEST(DoctorLibraryPathOldCuda, OlderCudnnOrNcclInFrontOfTheWheels) {
  Examined host = healthy();
  host.facts.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"},
                                 {"nvidia_nccl_cu12", "2.27.5"}};
  auto& found = host.facts.libraries->found;
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(only(host).rule, "library_path_old_cuda");
  EXPECT_THAT(only(host).title.english(), HasSubstr("older cuDNN in front of that of torch"));
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("nvidia_cudnn_cu12 9.10.2.21"));
  EXPECT_FALSE(only(host).doubt.empty());
  for (const char* version : {"9.10.2", "9.10.3", "9.11.0", "9", "", "8.9.7", "10.0.0"}) {
    found[0].version = version;
    EXPECT_THAT(rules_of(host), IsEmpty()) << version;
  }
  found = {{"libnccl", "/c/libnccl.so.2.18.5", "2.18.5", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(only(host).title.english(), HasSubstr("older NCCL"));
  host.facts.python->said.frameworks[0].error = "ImportError: undefined symbol: ncclCommWindow";
  EXPECT_THAT(rules_of(host), ElementsAre("import_failed", "library_path_old_cuda"));
  host.facts.python->said.frameworks[0].error.clear();
  host.facts.python->packages.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "which one torch has is not to be told";
}

TEST(DoctorLibraryPathOldCuda, OlderOnesThatTheLoaderDoesNotTakeAreWell) {
  Examined host = healthy();
  host.facts.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"}};
  auto& found = host.facts.libraries->found;
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the system's are looked at last";
  found = {{"libcudnn", "/venv/libcudnn.so.9", "9", "LD_LIBRARY_PATH"},
           {"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), Not(Contains("library_path_old_cuda"))) << "the wheels' own is first";
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  host.facts.python->packages = {{"nvidia_cudnn_cu11", "9.10.2.21"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another generation's wheel is not this torch's";
  host.facts.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"}};
  host.facts.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  EXPECT_THAT(rules_of(host), Not(Contains("library_path_old_cuda"))) << "a build without CUDA";
}

TEST(DoctorWheelsOfTwoMajors, SamePackageForTwoGenerations) {
  Examined host = healthy();
  host.facts.python->packages = {{"nvidia_cudnn_cu11", "8.5"}, {"nvidia_cublas_cu12", "12.1"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.python->packages.emplace_back("nvidia_cudnn_cu12", "9.1");
  EXPECT_EQ(told(host),
            "warning wheels_of_two_majors: nvidia_cudnn_cu11 8.5 and nvidia_cudnn_cu12 9.1 lie in "
            "the same folder");
  host.facts.python->packages = {{"nvidia_nccl_cu13", "2.28"}, {"nvidia_nccl_cu11", "2.19"}};
  EXPECT_EQ(told(host),
            "warning wheels_of_two_majors: nvidia_nccl_cu11 2.19 and nvidia_nccl_cu13 2.28 lie in "
            "the same folder");
}

TEST(DoctorPreloadMissing, FileThatIsNotThere) {
  Examined host = healthy();
  host.facts.libraries->preload_missing = {"/gone.so"};
  EXPECT_EQ(told(host),
            "hint preload_missing: LD_PRELOAD names /gone.so, and there is no such file");
  EXPECT_EQ(commands_of(only(host)), "unset LD_PRELOAD\n");
  host.facts.libraries->preload_missing.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorPreloadStandsIn, InTheDriversPlace) {
  Examined host = healthy();
  auto& preloaded = host.facts.libraries->preloaded;
  preloaded = {{"libcuda", "/usr/local/cuda/lib64/stubs/libcuda.so", "", "LD_PRELOAD"}};
  EXPECT_EQ(told(host),
            "error preload_stands_in: LD_PRELOAD names /usr/local/cuda/lib64/stubs/libcuda.so; "
            "the driver is 580.65.06");
  preloaded = {{"libnvidia-ml", "/home/ada/libnvidia-ml.so.1", "550.54.14", "LD_PRELOAD"}};
  EXPECT_EQ(only(host).severity, Severity::error);
}

TEST(DoctorPreloadStandsIn, CudasOwnMayBeMeant) {
  Examined host = healthy();
  host.facts.libraries->preloaded = {{"libnccl", "/home/ada/libnccl.so.2", "2.28.3", "LD_PRELOAD"}};
  EXPECT_EQ(told(host), "hint preload_stands_in: LD_PRELOAD names /home/ada/libnccl.so.2");
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorPreloadStandsIn, TheDriversOwnOrANewerOneOnPurposeIsWell) {
  Examined host = healthy();
  host.facts.libraries->preloaded = {
      {"libcuda", "/usr/lib64/libcuda.so.1", "580.65.06", "LD_PRELOAD"},
      {"libcuda", "/usr/local/cuda/compat/libcuda.so.1", "590.48.01", "LD_PRELOAD"},
      {"libcuda", "/usr/lib/wsl/lib/libcuda.so.1", "1.1", "LD_PRELOAD"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/gpustat.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using What = SmiRequest::What;

TEST(SmiArguments, NothingIsTheTable) {
  const SmiRequest request = parse({});
  EXPECT_EQ(request.what, What::table);
  EXPECT_FALSE(request.every);
}

TEST(SmiArguments, TakesEachSpellingOfAnOption) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"-i", "0,GPU-1"}, {"--id=0,GPU-1"}, {"--id", "0,GPU-1"}, {"-i=0,GPU-1"}}) {
    EXPECT_THAT(parse(words).devices, ElementsAre("0", "GPU-1")) << words.front();
  }
  EXPECT_EQ(parse({"-lms", "250"}).every, milliseconds(250));
  EXPECT_EQ(parse({"--loop-ms=250"}).every, milliseconds(250));
  EXPECT_EQ(parse({"-l", "2"}).every, milliseconds(2000));
  EXPECT_EQ(parse({"-f", "a.txt"}).file, "a.txt");
}

TEST(SmiArguments, ALoopWithoutSecondsTakesFive) {
  EXPECT_EQ(parse({"-l"}).every, milliseconds(5000));
  const SmiRequest request = parse({"-l", "-i", "1"});
  EXPECT_EQ(request.every, milliseconds(5000));
  EXPECT_THAT(request.devices, ElementsAre("1"));
}

TEST(SmiArguments, ReadsAQueryWithItsFormat) {
  const SmiRequest request = parse({"--query-gpu=index, name,memory.used",
                                    "--format=csv,noheader,nounits", "-i", "1", "-l", "1"});
  EXPECT_EQ(request.what, What::query_gpu);
  EXPECT_EQ(request.form, SmiRequest::Form::csv);
  EXPECT_FALSE(request.header);
  EXPECT_FALSE(request.units);
  EXPECT_THAT(request.fields, ElementsAre("index", "name", "memory.used"));
  EXPECT_EQ(parse({"--query-compute-apps=pid", "--format", "csv"}).what, What::query_compute_apps);
}

TEST(SmiArguments, ReadsWhatPartOfTheDumpIsWanted) {
  const SmiRequest request = parse({"-q", "-d", "memory,ECC"});
  EXPECT_EQ(request.what, What::query);
  EXPECT_THAT(request.sections, ElementsAre("MEMORY", "ECC"));
  EXPECT_EQ(parse({"-q", "-x"}).form, SmiRequest::Form::xml);
  EXPECT_EQ(parse({"-q", "-j"}).form, SmiRequest::Form::json);
}

TEST(SmiArguments, WhatIsWrongIsSaidAndExitsWithTwo) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"-Q"},
                                             {"status"},
                                             {"-i"},
                                             {"-l", "0"},
                                             {"-lms", "soon"},
                                             {"-x"},
                                             {"-L", "-q"},
                                             {"-q", "-d", "BOGUS"},
                                             {"-q", "-d", "MEMORY,BOGUS"},
                                             {"-q", "-d", ""},
                                             {"--query-gpu=", "--format=csv"},
                                             {"--query-gpu=name"},
                                             {"--query-gpu=name", "--format=json"},
                                             {"--format=csv"},
                                             {"topo"},
                                             {"dmon", "-s", "z"},
                                             {"dmon", "-c"},
                                             {"nvlink"}}) {
    const SmiRequest request = parse(words);
    EXPECT_EQ(request.what, What::text) << words.front();
    EXPECT_EQ(request.said.code, 2) << words.front();
    EXPECT_FALSE(request.said.text.empty()) << words.front();
  }
}

TEST(SmiArguments, NamesTheOptionThatIsWrong) {
  EXPECT_EQ(parse({"-L", "-Q"}).said.text,
            "ERROR: Option -Q is not recognized. Please run 'nvidia-smi -h' for help.\n");
  EXPECT_EQ(parse({"-q", "-d"}).said.text,
            "ERROR: Option -d is missing its value. Please run 'nvidia-smi -h' for help.\n");
  EXPECT_THAT(parse({"-q", "-d", "memory,bogus"}).said.text, HasSubstr("\"BOGUS\" is not a valid"));
}

TEST(SmiArguments, NamesACharacterThatOnlyLooksRight) {
  EXPECT_THAT(parse({"－L"}).said.text, HasSubstr("did you mean -L?"));
}

// `nvidia-smi -a` of 396.37 (NVIDIA/nvidia-docker#816) and 535.129.03, and what scripts paste.
TEST(SmiArguments, AIsTheWholeLog) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"-a"}, {"-q", "-a"}, {"-a", "-q"}, {"-a", "-q", "-l", "3"}}) {
    const SmiRequest request = parse(words);
    EXPECT_EQ(request.what, What::query) << words.back();
    EXPECT_TRUE(wanted_by(request).has(Detail::inforom_image)) << words.back();
    EXPECT_TRUE(request.sections.empty()) << words.back();
  }
  EXPECT_EQ(parse({"-a", "-q", "-l", "3"}).every, milliseconds(3000));
  EXPECT_THAT(parse({"-a", "-q", "-d", "utilization"}).sections, ElementsAre("UTILIZATION"));
  EXPECT_EQ(parse({"-a", "-L"}).said.code, 2);
}

TEST(SmiArguments, MillisecondsMayBeLeftOut) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"-lms", "--query-gpu=index", "--format=csv"},
                                             {"--query-gpu=index", "--format=csv", "--loop-ms"}}) {
    const SmiRequest request = parse(words);
    EXPECT_EQ(request.what, What::query_gpu) << request.said.text;
    EXPECT_EQ(request.every, milliseconds(100));
  }
  EXPECT_EQ(parse({"-lms", "7", "--query-gpu=index", "--format=csv"}).every, milliseconds(7));
}

TEST(SmiArguments, SettingsAreRefusedWithTheCommandForTheRealOne) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"-pm", "1"},
                                                                 {"-i", "0", "-pl", "250"},
                                                                 {"-r"},
                                                                 {"--compute-mode=3"},
                                                                 {"mig", "-cgi", "9"},
                                                                 {"drain", "-p", "0000:01:00.0"},
                                                                 {"-e", "0"}}) {
    const SmiRequest request = parse(words);
    EXPECT_EQ(request.said.code, 4) << words.front();
    EXPECT_THAT(request.said.text, HasSubstr("sudo /usr/bin/nvidia-smi " + words.front()));
  }
}

TEST(SmiArguments, WhatIsNotShownExitsWithThree) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"-u"},
                                                                 {"c2c", "-s"},
                                                                 {"topo", "-p2p", "r"},
                                                                 {"nvlink", "-e"},
                                                                 {"dmon", "--gpm-metrics", "1"}}) {
    EXPECT_EQ(parse(words).said.code, 3) << words.front();
  }
}

TEST(SmiArguments, ReadsTheMonitors) {
  const SmiRequest dmon = parse({"dmon", "-s", "pt", "-c", "3", "-d", "2", "-i", "0", "-o", "DT"});
  EXPECT_EQ(dmon.what, What::dmon);
  EXPECT_EQ(dmon.select, "pt");
  EXPECT_EQ(dmon.times, 3U);
  EXPECT_EQ(dmon.every, milliseconds(2000));
  EXPECT_EQ(dmon.stamps, "DT");
  EXPECT_EQ(parse({"pmon", "--count=1", "--select=um"}).select, "um");
  EXPECT_EQ(parse({"pmon", "-s", "t"}).said.code, 2);
}

TEST(SmiArguments, HelpSaysWhatIsAnswered) {
  EXPECT_THAT(parse({"-h"}).said.text, HasSubstr("--query-gpu=FIELD,..."));
  EXPECT_EQ(parse({"-h"}).said.code, 0);
  EXPECT_EQ(parse({"--help-query-compute-apps"}).help_of, "compute-apps");
  EXPECT_THAT(parse({"dmon", "-h"}).said.text, HasSubstr("PCIe traffic"));
}

TEST(GpustatArguments, FlagsStandAloneOrTogether) {
  const GpustatRequest request = parse_gpustat({"-cup", "-F"});
  EXPECT_TRUE(request.command && request.user && request.pid && request.fan);
  EXPECT_FALSE(request.power);
  const GpustatRequest all = parse_gpustat({"-a"});
  EXPECT_TRUE(all.command && all.user && all.pid && all.fan && all.encoder && all.power_limit);
}

TEST(GpustatArguments, IIsAnInterval) {
  EXPECT_EQ(parse_gpustat({"-i"}).every, milliseconds(1000));
  EXPECT_EQ(parse_gpustat({"-i", "2.5"}).every, milliseconds(2500));
  EXPECT_EQ(parse_gpustat({"-i0.5"}).every, milliseconds(500));
  EXPECT_EQ(parse_gpustat({"--interval=0.01"}).every, milliseconds(100));
  EXPECT_EQ(parse_gpustat({"--watch", "-c"}).every, milliseconds(1000));
  EXPECT_EQ(parse_gpustat({"--json", "-i"}).said->code, 1);
  EXPECT_EQ(parse_gpustat({"-i", "soon"}).said->code, 2);
}

TEST(GpustatArguments, ChoosesWhatIsShown) {
  EXPECT_THAT(parse_gpustat({"--id", "0,2"}).devices, ElementsAre("0", "2"));
  EXPECT_FALSE(parse_gpustat({"-P", "draw"}).power_limit);
  EXPECT_TRUE(parse_gpustat({"-P"}).power_limit);
  EXPECT_FALSE(parse_gpustat({"--show-codec=enc"}).decoder);
  EXPECT_EQ(parse_gpustat({"--no-color"}).colour, false);
  EXPECT_EQ(parse_gpustat({"--gpuname-width", "25"}).name_width, 25);
  EXPECT_EQ(parse_gpustat({"--frobnicate"}).said->code, 2);
  EXPECT_THAT(parse_gpustat({"--version"}).said->text, testing::StartsWith("gpustat "));
}

}  // namespace
}  // namespace berth::smi

// Dumps of the drivers from 470 to 580: what each calls its lines, and where they stand. Unknown
// lines cost nothing. The texts are made up. The lines stand where 470.256, 525.105, 530.30,
// 535.161, 555.42, 560.35 and 565.57 were seen to print them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/dump.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Snapshot read(const std::string& text) {
  auto snapshot = snapshot_from_dump(text, {});
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().message();
  return snapshot ? *snapshot : Snapshot{};
}

std::string heading(const std::string& driver) {
  return "\n==============NVSMI LOG==============\n\nTimestamp : Thu Nov 21 18:31:40 2024\n"
         "Driver Version : " +
         driver + "\nCUDA Version : 12.0\n\nAttached GPUs : 1\nGPU 00000000:3B:00.0\n";
}

/// A dump printed back by itself.
std::string printed(const std::string& driver, const std::string& lines) {
  SmiRequest request;
  request.what = SmiRequest::What::query;
  return render_query(read(heading(driver) + lines), request, {});
}

void expect_in_order(const std::string& text, const std::vector<std::string>& lines) {
  std::size_t at = 0;
  for (const std::string& line : lines) {
    const std::size_t found = text.find("\n" + std::string(line), at);
    ASSERT_NE(found, std::string::npos) << line << " is not there, or too early, in\n" << text;
    at = found + 1;
  }
}

TEST(Generation470, NamesPowerAndErrorsAsItDid) {
  const Device gpu = read(heading("470.256.02") +
                          "    Product Name : NVIDIA A100-SXM4-40GB\n"
                          "    Clocks Throttle Reasons\n"
                          "        Idle : Not Active\n"
                          "        SW Power Cap : Active\n"
                          "    FB Memory Usage\n"
                          "        Total : 40536 MiB\n"
                          "        Used : 12 MiB\n"
                          "        Free : 40524 MiB\n"
                          "    Ecc Mode\n"
                          "        Current : Enabled\n"
                          "    ECC Errors\n"
                          "        Volatile\n"
                          "            SRAM Correctable : 1\n"
                          "            SRAM Uncorrectable : 2\n"
                          "            DRAM Correctable : 3\n"
                          "            DRAM Uncorrectable : 4\n"
                          "    Power Readings\n"
                          "        Power Management : Supported\n"
                          "        Power Draw : 54.10 W\n"
                          "        Power Limit : 400.00 W\n"
                          "        Enforced Power Limit : 390.00 W\n")
                         .devices.at(0);
  EXPECT_EQ(gpu.throttle_reasons, Reading<ClockReasons>(ClockReasons(4)));
  EXPECT_EQ(gpu.ecc_mode, Reading<bool>(true));
  EXPECT_EQ(gpu.ecc_corrected, Reading<std::uint64_t>(4));
  EXPECT_EQ(gpu.ecc_uncorrected, Reading<std::uint64_t>(6));
  EXPECT_EQ(gpu.power_draw, Reading<Milliwatts>(Milliwatts(54'100)));
  EXPECT_EQ(gpu.power_limit, Reading<Milliwatts>(Milliwatts(390'000)));
  EXPECT_EQ(gpu.details.get<std::string>(Detail::power_management),
            Reading<std::string>("Supported"));
}

TEST(Generation470, PrintsTheLinesThatItHadAndNoOthers) {
  const std::string text = printed("470.256.02",
                                   "    Product Name : NVIDIA GeForce GTX 680\n"
                                   "    Clocks Throttle Reasons : N/A\n");
  expect_in_order(text, {"    GPU Part Number", "    Module ID", "    Inforom Version",
                         "    GSP Firmware Version", "    GPU Virtualization Mode", "    IBMNPU",
                         "    Clocks Throttle Reasons               : N/A\n    FB Memory Usage\n"
                         "        Total                             : N/A\n        Used ",
                         "    Ecc Mode\n", "    Power Readings\n        Power Management ",
                         "    Voltage", "    Processes"});
  for (const char* later : {"Product Architecture", "FRU Part Number", "Reset Status", "Reserved",
                            "Device Current", "Atomic Caps", "Deferred Clocks", "Fabric",
                            "Addressing Mode", "C2C", "BBX", "T.Limit", "Sparse", "JPEG"}) {
    EXPECT_THAT(text, Not(HasSubstr(later)));
  }
}

TEST(Generation525, TellsTheMarginBesideTemperatures) {
  const std::string lines =
      "    Product Name : NVIDIA H800\n    Product Architecture : Hopper\n"
      "    Temperature\n        GPU Current Temp : 35 C\n        GPU T.Limit Temp : 51 C\n"
      "        GPU Shutdown Temp : 92 C\n    Fabric\n        State : Completed\n"
      "        Status : Success\n";
  const std::string text = printed("525.105.17", lines);
  expect_in_order(text, {"    Product Architecture", "    Board Part Number", "    IBMNPU",
                         "                Device Current ", "        Atomic Caps Inbound",
                         "        Atomic Caps Outbound", "        Reserved", "    Ecc Mode",
                         "        GPU T.Limit Temp                  : 51 C\n"
                         "        GPU Shutdown Temp                 : 92 C",
                         "    Deferred Clocks", "    Fabric\n        State ",
                         "        Status                            : Success\n    Processes"});
  EXPECT_THAT(text, Not(HasSubstr("Shutdown T.Limit")));
  EXPECT_THAT(text, Not(HasSubstr("FRU Part Number")));
  EXPECT_THAT(text, Not(HasSubstr("Reset Status")));
  EXPECT_EQ(read(heading("525.105.17") + lines)
                .devices.at(0)
                .details.get<std::string>(Detail::fabric_status),
            Reading<std::string>("Success"));
}

TEST(Generation530, ResetStatusStandsBehindVirtualization) {
  const std::string text = printed("530.30.02",
                                   "    Product Name : Tesla T4\n"
                                   "    Product Architecture : Turing\n");
  expect_in_order(
      text, {"    FRU Part Number", "    GPU Operation Mode", "    GSP Firmware Version",
             "    GPU Virtualization Mode", "    GPU Reset Status", "    IBMNPU", "    ECC Mode"});
  EXPECT_THAT(text, Not(HasSubstr("T.Limit"))) << "not of a card that tells no margin";
  EXPECT_THAT(text, Not(HasSubstr("BBX")));
  EXPECT_THAT(text, Not(HasSubstr("Addressing Mode")));
}

TEST(Generation535, ErrorsByPlaceHaveTheirPaddedNames) {
  const std::string text = printed("535.161.07",
                                   "    Product Name : NVIDIA GeForce GTX 1050 Ti\n"
                                   "    Product Architecture : Pascal\n"
                                   "    ECC Errors\n        Volatile\n"
                                   "            Single Bit            \n"
                                   "                Device Memory : 5\n");
  expect_in_order(
      text, {"    Addressing Mode", "    Inforom BBX Object Flush", "    GSP Firmware Version",
             "    GPU Virtualization Mode", "    Clocks Event Reasons", "    Sparse Operation Mode",
             "    Conf Compute Protected Memory Usage",
             "            Single Bit            \n"
             "                Device Memory             : 5\n",
             "            Double Bit            \n", "        GPU T.Limit Temp",
             "    GPU Power Readings\n        Power Draw", "    Module Power Readings"});
  EXPECT_THAT(text, Not(HasSubstr("C2C")));
  EXPECT_THAT(text, Not(HasSubstr("GPU Memory Power")));
  EXPECT_THAT(text, Not(HasSubstr("CliqueId")));
}

TEST(Generation555, HasCapabilitiesAndInboundBeforeOutbound) {
  const std::string text = printed("555.42.02", "    Product Name : NVIDIA A100-SXM4-80GB\n");
  expect_in_order(text, {"    Module ID", "    GPU C2C Mode", "    GPU Virtualization Mode",
                         "    GPU Reset Status", "    GSP Firmware Version",
                         "        Atomic Caps Inbound", "        Atomic Caps Outbound",
                         "        Gpu ", "    GPU Memory Power Readings \n        Power Draw",
                         "    Processes", "    Capabilities\n        EGM"});
  EXPECT_THAT(text, Not(HasSubstr("Recovery Action")));
}

TEST(Generation560, TellsOutboundAtomicsFirst) {
  expect_in_order(printed("560.35.03", "    Product Name : NVIDIA H100\n"),
                  {"    Module ID", "        Atomic Caps Outbound", "        Atomic Caps Inbound"});
}

TEST(Generation565, NamesThePlaceInTheRackAsItsFirstVersionDid) {
  const std::string lines =
      "    Product Name : NVIDIA GB200\n    Platform Info\n"
      "        RACK Serial Number : 1820325191344\n        Chassis Physical Slot Number : 20\n"
      "        Compute Slot Index : 10\n        Node Index : 1\n        Module Id : 2\n";
  const Details details = read(heading("565.57.01") + lines).devices.at(0).details;
  EXPECT_EQ(details.get<std::string>(Detail::platform_chassis_serial),
            Reading<std::string>("1820325191344"));
  EXPECT_EQ(details.get<std::uint64_t>(Detail::platform_slot_number), Reading<std::uint64_t>(20));
  EXPECT_EQ(details.get<std::uint64_t>(Detail::platform_tray_index), Reading<std::uint64_t>(10));
  EXPECT_EQ(details.get<std::uint64_t>(Detail::platform_host_id), Reading<std::uint64_t>(1));
  const std::string text = printed("565.57.01", lines);
  expect_in_order(text, {"        RACK Serial Number                : 1820325191344",
                         "        Node Index", "        Module Id                         : 2",
                         "    Inforom Version", "    GPU Recovery Action", "        Gpu ",
                         "            Bandwidth                     : N/A\n    Processes"});
  EXPECT_THAT(text, Not(HasSubstr("\n    Module ID")));
}

TEST(VirtualMachine, LicenceIsReadAndPrintedWhereThereIsOne) {
  const std::string lines =
      "    Product Name : GRID V100D-8C\n    Product Brand : NVIDIA Virtual Compute Server\n"
      "    GPU Virtualization Mode\n        Virtualization Mode : VGPU\n"
      "    vGPU Software Licensed Product\n        Product Name : NVIDIA Virtual Compute Server\n"
      "        License Status : Licensed (Expiry: 2025-3-19 7:29:4 GMT)\n"
      "    Clocks Event Reasons : N/A\n    FB Memory Usage\n        Total : 8192 MiB\n";
  const Device gpu = read(heading("535.216.01") + lines).devices.at(0);
  EXPECT_EQ(gpu.name, Reading<std::string>("GRID V100D-8C")) << "not the licence's product";
  EXPECT_EQ(gpu.details.get<std::string>(Detail::vgpu_license_status),
            Reading<std::string>("Licensed (Expiry: 2025-3-19 7:29:4 GMT)"));
  EXPECT_EQ(gpu.memory_total, Reading<Bytes>(Bytes(8192ULL << 20)));
  expect_in_order(printed("535.216.01", lines),
                  {"    vGPU Software Licensed Product\n"
                   "        Product Name                      : NVIDIA Virtual Compute Server\n"
                   "        License Status                    : Licensed (Expiry: 2025-3-19 7:29:4 "
                   "GMT)\n    GPU Reset Status",
                   "    Clocks Event Reasons                  : N/A\n"});
  EXPECT_THAT(printed("535.216.01", "    Product Name : Tesla T4\n"), Not(HasSubstr("Licensed")));
}

TEST(Virtualization, OnlyAHostOfVirtualGpusHasItsCapabilities) {
  const auto fractional = [](const std::string& mode) {
    return read(heading("580.65.06") +
                "    GPU Virtualization Mode\n        Host VGPU Mode : " + mode + "\n")
        .devices.at(0)
        .details.cell(Detail::vgpu_fractional);
  };
  EXPECT_EQ(fractional("N/A"), Cell(Absent::unsupported));
  EXPECT_EQ(fractional("SR-IOV"), Cell()) << "nobody said";
}

TEST(Generation595, CardThatCountsNoErrorsHasNoSumOfThem) {
  const std::string errors =
      "            SRAM Correctable : N/A\n            SRAM Uncorrectable : N/A\n";
  const Device gpu = read(heading("595.71.05") +
                          "    Product Architecture : Turing\n    ECC Errors\n        Volatile\n" +
                          errors + "        Aggregate\n" + errors)
                         .devices.at(0);
  for (const Detail sum :
       {Detail::ecc_uncorrected_volatile_sram, Detail::ecc_uncorrected_aggregate_sram}) {
    EXPECT_EQ(gpu.details.cell(sum), Cell(Absent::unsupported));
  }
}

std::string printed_as_xml(const std::string& driver, const std::string& lines) {
  SmiRequest request;
  request.what = SmiRequest::What::query;
  request.form = SmiRequest::Form::xml;
  return render_xml(read(heading(driver) + lines), request, {});
}

TEST(Generation515, HasNeitherBoardPartNumberNorDeferredClocks) {
  const std::string old = printed_as_xml("515.105.01", "    Product Name : NVIDIA A10G\n");
  EXPECT_THAT(old, HasSubstr("nvsmi_device_v11.dtd"));
  EXPECT_THAT(old, Not(HasSubstr("<board_part_number>")));
  EXPECT_THAT(old, Not(HasSubstr("<deferred_clocks>")));
  const std::string next = printed_as_xml("525.125.06", "    Product Name : NVIDIA A10G\n");
  EXPECT_THAT(next, HasSubstr("nvsmi_device_v12.dtd"));
  EXPECT_THAT(next, HasSubstr("<board_part_number>N/A</board_part_number>"));
  EXPECT_THAT(next, HasSubstr("<deferred_clocks>"));
}

TEST(Generation525, ACardWithoutAMarginSaysSo) {
  const std::string lines =
      "    Product Name : Quadro P2000\n    Temperature\n        GPU T.Limit Temp : N/A\n";
  EXPECT_THAT(printed("525.125.06", lines),
              HasSubstr("        GPU T.Limit Temp                  : N/A\n"));
}

TEST(Generation535, AnInstanceHasItsMemory) {
  const std::string lines =
      "    Product Name : NVIDIA A100-SXM4-80GB\n    MIG Mode\n        Current : Enabled\n"
      "    MIG Device\n        Index : 0\n        GPU Instance ID : 3\n"
      "        Compute Instance ID : 0\n        FB Memory Usage\n            Total : 19968 MiB\n"
      "            Used : 12 MiB\n        BAR1 Memory\n            Total : 32767 MiB\n";
  expect_in_order(
      printed("535.54.03", lines),
      {"        FB Memory Usage", "            Total                         : 19968 MiB",
       "        BAR1 Memory\n", "            Total                         : 32767 MiB"});
  expect_in_order(printed("580.65.06", lines),
                  {"        Shared FB Memory Usage", "            Total  ",
                   "        Shared BAR1 Memory", "            Total  "});
}

TEST(Generation550, ItsLaterDriversTellAverageAndMomentApart) {
  const std::string card = "    Product Name : NVIDIA L40S\n";
  EXPECT_THAT(printed("550.163.01", card), HasSubstr("        Instantaneous Power Draw "));
  EXPECT_THAT(printed("550.163.01", card), Not(HasSubstr("        Power Draw ")));
  for (const char* other : {"550.127.05", "555.58.02"}) {
    EXPECT_THAT(printed(other, card), Not(HasSubstr("        Instantaneous Power Draw ")));
    EXPECT_THAT(printed(other, card), HasSubstr("        Power Draw "));
  }
}

TEST(Generation535, ItsLaterDriversTellErrorsOfSramByKind) {
  const std::string card = "    Product Name : NVIDIA A100\n    Product Architecture : Ampere\n";
  EXPECT_THAT(printed("535.216.03", card), HasSubstr("SRAM Uncorrectable SEC-DED "));
  EXPECT_THAT(printed("535.129.03", card), Not(HasSubstr("SRAM Uncorrectable SEC-DED ")));
}

TEST(Generation580, ItsLaterDriversTellWhatTheNextBranchesTell) {
  const std::string card =
      "    Product Name : NVIDIA GB200\n    Product Architecture : Blackwell\n";
  const std::string told =
      card +
      "    ECC Errors\n        Unrepairable Memory : No\n    Remapped Rows\n"
      "        Correctable Error : 0\n        Inactive Correctable Error : 0\n";
  EXPECT_THAT(printed("580.173.02", told), HasSubstr("        Unrepairable Memory "));
  EXPECT_THAT(printed("580.173.02", told), HasSubstr("        Inactive Correctable Error "));
  EXPECT_THAT(printed("580.65.06", card), Not(HasSubstr("Unrepairable Memory")));
  EXPECT_THAT(printed("575.64.05", told), Not(HasSubstr("Unrepairable Memory")));
}

TEST(Generation580, ABaseboardIsKnownToItsSwitchesAndHasNoSlot) {
  const std::string lines =
      "    Product Name : NVIDIA B200\n    Platform Info\n        Chassis Serial Number : \n"
      "        Slot Number : N/A\n        Tray Index : N/A\n        Host ID : 1\n"
      "        Peer Type : Switch Connected\n        Module Id : 6\n"
      "        GPU Fabric GUID : 0x0000000000000002\n";
  expect_in_order(printed("580.105.08", lines),
                  {"        Chassis Serial Number             : \n",
                   "        Slot Number                       : N/A",
                   "        Host ID                           : 1",
                   "        Peer Type                         : Switch Connected",
                   "        GPU Fabric GUID                   : 0x0000000000000002"});
}

TEST(Generation580, ItsColonsMovedWithinTheBranch) {
  const std::string card = "    Product Name : NVIDIA RTX PRO 6000\n";
  for (const char* early : {"580.65.06", "580.95.05", "580.105.06", "580.105.08"}) {
    EXPECT_THAT(printed(early, card),
                HasSubstr("\n    Product Name                          : NVIDIA RTX PRO 6000\n"))
        << early;
  }
  for (const char* late : {"580.119.02", "580.126.09", "580.173.02", "590.44.01", "580"}) {
    EXPECT_THAT(
        printed(late, card),
        HasSubstr(
            "\n    Product Name                                       : NVIDIA RTX PRO 6000\n"))
        << late;
  }
}

TEST(Generation610, NamesItsVersionsTwice) {
  const std::string text = printed("610.57.04", "    Product Name : NVIDIA GeForce RTX 2080\n");
  expect_in_order(text, {"Driver Version                                         : 610.57.04 "
                         "[Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]",
                         "CUDA Version                                           : 12.0 "
                         "[Deprecated; will be removed in CUDA 14.0. Use CUDA UMD Version instead]",
                         "KMD Version                                            : 610.57.04",
                         "CUDA UMD Version                                       : 12.0",
                         "    Inforom Time Data", "        Time Run", "    GPU Operation Mode",
                         "            Default Base Power"});
  EXPECT_THAT(text, Not(HasSubstr("Min Base Power")));
  EXPECT_EQ(read(text).host.software_of(Runtime::cuda).driver, Reading<std::string>("610.57.04"));
}

TEST(VirtualMachine, LicenceIsReadFromXmlToo) {
  const Device gpu =
      read(
          "<?xml version=\"1.0\" ?><nvidia_smi_log><driver_version>535.216.01</driver_version>"
          "<gpu id=\"00000000:02:00.0\"><product_name>GRID V100D-8C</product_name>"
          "<vgpu_software_licensed_product>"
          "<licensed_product_name>NVIDIA Virtual Compute Server</licensed_product_name>"
          "<license_status>Unlicensed (Restricted)</license_status>"
          "</vgpu_software_licensed_product></gpu></nvidia_smi_log>")
          .devices.at(0);
  EXPECT_EQ(gpu.details.get<std::string>(Detail::vgpu_license_status),
            Reading<std::string>("Unlicensed (Restricted)"));
}

TEST(AnyGeneration, UnknownSectionsCostNothingButThemselves) {
  const Device gpu = read(heading("720.10") +
                          "    Product Name : NVIDIA R100\n"
                          "    Quantum Unit : Entangled\n"
                          "    Photonic Fabric\n"
                          "        State : Completed\n"
                          "        Total : 77 MiB\n"
                          "        Lanes\n"
                          "            GPU Current Temp : 900 C\n"
                          "            Used\n"
                          "                Free : 1 MiB\n"
                          "    FB Memory Usage\n"
                          "        Total : 300000 MiB\n"
                          "        Promised : 7 MiB\n"
                          "        Used : 100 MiB\n"
                          "    Temperature\n"
                          "        GPU Current Temp : 41 C\n"
                          "        Optics Current Temp : 12 C\n")
                         .devices.at(0);
  EXPECT_EQ(gpu.memory_total, Reading<Bytes>(Bytes(300'000ULL << 20)));
  EXPECT_EQ(gpu.memory_used, Reading<Bytes>(Bytes(100ULL << 20)));
  EXPECT_EQ(gpu.temperature, Reading<Celsius>(Celsius(41)));
  EXPECT_EQ(gpu.memory_free, Reading<Bytes>()) << "no other section's";
}

TEST(Capability, IsThatOfTheWholeNameAndNotOfItsBeginning) {
  const auto capability_of = [](const std::string& name, const std::string& architecture) {
    const std::string product = "    Product Name : " + name + "\n    Product Architecture : ";
    const Device gpu = read(heading("580.65.06") + product + architecture + "\n").devices.at(0);
    const auto& capability = gpu.compute_capability.get();
    return capability ? std::to_string(capability->major) + "." + std::to_string(capability->minor)
                      : std::string("unknown");
  };
  EXPECT_EQ(capability_of("NVIDIA A30", "Ampere"), "8.0");
  EXPECT_EQ(capability_of("NVIDIA RTX A3000 Laptop GPU", "Ampere"), "8.6");
  EXPECT_EQ(capability_of("GRID A100D-40C", "Ampere"), "8.0");
  EXPECT_EQ(capability_of("NVIDIA GB300", "Blackwell"), "10.3");
  EXPECT_EQ(capability_of("NVIDIA GB200", "Blackwell"), "10.0");
  EXPECT_EQ(capability_of("NVIDIA GB10", "Blackwell"), "12.1");
  EXPECT_EQ(capability_of("NVIDIA RTX PRO 6000 Blackwell Server Edition", "Blackwell"), "12.0");
}

}  // namespace
}  // namespace berth::smi

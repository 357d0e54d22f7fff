// The findings of the rules of health and of alerts, by their codes, and what to do about them. The
// server says both in English with the evidence of this machine. Chinese readers get the meaning in
// Chinese, and the evidence as it stands.

import type { Alert } from "../model/wire";
import { language } from "./translate";

export const titles: Record<string, string> = {
  lost: "GPU 已从总线掉线",
  unusable: "GPU 无法使用",
  recovery_action: "驱动要求执行恢复操作",
  ecc_uncorrected: "有显存错误未能纠正",
  ecc_corrected: "有显存错误已被纠正",
  sram_threshold: "缓存与寄存器的错误超过厂商阈值",
  row_remap_failed: "损坏的显存行无法替换：备用行已用尽",
  row_remap_pending: "损坏的显存行将在下次重置时替换",
  rows_remapped: "部分显存行出错后已被替换",
  page_retirement_pending: "损坏的显存页将在驱动重新加载时停用",
  pages_retired: "部分显存页因双比特错误已停用",
  unrepairable_memory: "显存存在无法修复的错误",
  repair_pending: "有部件等待在下次重置时修复",
  memory_of_nobody: "有显存不属于驱动列表中的任何进程",
  time_lost_to_heat: "曾因过热被硬件降频",
  time_lost_to_power_brake: "曾因供电被硬件降频",
  time_lost_to_heat_control: "曾因过热被驱动降频",
  time_lost_to_power_limit: "曾受功率上限限制",
  too_hot: "温度已达到降频阈值",
  hardware_thermal_slowdown: "硬件降频：过热",
  power_brake: "硬件降频：电源要求",
  software_thermal_slowdown: "驱动降频：接近最高温度",
  hardware_slowdown: "硬件降频：过热或供电",
  pcie_width: "PCIe 通道数低于应有值",
  pcie_generation: "负载下 PCIe 代数低于应有值",
  pcie_replays: "大量 PCIe 数据包重传",
  fabric_not_ready: "NVLink 互连尚未接纳此卡",
  fabric_health: "NVLink 互连报告异常",
  nvlink_down: "部分 NVLink 已断开",
  nvlink_unused: "其 NVLink 全部断开，而其他同型号的卡有接通的",
  nvlink_partly_used: "仅部分 NVLink 接通（同型号各卡一致）",
  nvlink_errors_now: "NVLink 正在出错",
  nvlink_errors: "NVLink 曾出错",
};

export const alert_titles: Record<string, string> = {
  gpu_lost: "GPU 已从总线掉线，或驱动不再列出它",
  gpu_failed: "GPU 有响应但已故障，不会分配给任何任务",
  xid: "驱动报告了错误（XID）",
  ecc_pending: "损坏的显存等待替换",
  throttled_long: "因过热或供电而降频",
  ghost_memory: "有显存不属于驱动列表中的任何进程",
  idle_holder: "GPU 占而不用",
  disk_nearly_full: "磁盘即将写满",
  probe_failing: "有数据来源无法查询或没有响应",
  environment_changed: "驱动、CUDA 工具包、内核或设备与之前不同",
};

// The sentences of src/health and src/alert, as po/zh_CN.po has them (tests/tools/test_tables.py). "{}" stands for a
// command.
export const advices: Record<string, string> = {
  "reboot; if it comes back, look at seating, power and cooling":
    "请重启；若再次出现，请检查插接、供电和散热",
  "no new jobs on it until that is done": "完成之前不要在其上启动新任务",
  "no new jobs on it, then a reset by root (nvidia-smi --gpu-reset) or a reboot":
    "不要再启动新任务，然后由 root 重置（nvidia-smi --gpu-reset）或重启机器",
  'look for "NVRM" and "Xid" in the kernel log; a device that hangs may need a reset or a reboot':
    "请在内核日志中查找 “NVRM” 和 “Xid”；卡住的设备可能需要重置或重启机器",
  'look for "amdgpu" in the kernel log; a device that hangs may need a reset or a reboot':
    "请在内核日志中查找 “amdgpu”；卡住的设备可能需要重置或重启机器",
  'look for "xe" and "i915" in the kernel log; a device that hangs may need a reset or a reboot':
    "请在内核日志中查找 “xe” 和 “i915”；卡住的设备可能需要重置或重启机器",
  "look at npu-smi info and the kernel log; a device that hangs may need a reset or a reboot":
    "请查看 npu-smi info 和内核日志；卡住的设备可能需要重置或重启机器",
  "look for its driver in the kernel log": "请在内核日志中查找它的驱动",
  "no new jobs on it, then a reset by root or a reboot": "不要再启动新任务，然后由 root 重置或重启机器",
  "ask for its replacement": "请申请更换",
  "berth ps says who has the device open": "berth ps 会显示是谁打开了设备",
  "berth ps says by what; ask whose it is": "berth ps 列出是什么占用；请联系它的主人",
  "see the kernel log (sudo dmesg). If it stays silent: once nobody uses it, reset it ({}) or reboot":
    "请查看内核日志（sudo dmesg）；若仍无响应：等无人使用后重置它（{}）或重启",
  "look at fans, dust and the air of the room": "请检查风扇、积灰和机房通风",
  "look at the power supply and its cables": "请检查电源及其线缆",
  "normal under full load; nvidia-smi -q -d POWER shows whether somebody lowered the limit":
    "满载时属正常；nvidia-smi -q -d POWER 可看出是否有人调低了上限",
  "look at temperature and power supply": "请检查温度和供电",
  "look at the slot, the riser and the seating of the card": "请检查插槽、转接卡和显卡是否插紧",
  "look again under load: idle, some cards narrow the link themselves": "请在有负载时再看：空闲时有些卡会自行减少通道",
  "look at the slot, the riser and the BIOS setting": "请检查插槽、转接卡和 BIOS 设置",
  "many at once: look at the riser and the seating of the card": "若短时间内很多：请检查转接卡和显卡是否插紧",
  "look at `nvidia-smi nvlink -s` and -e; a reset of all linked GPUs trains them anew":
    "请查看 `nvidia-smi nvlink -s` 和 -e；重置所有相连的 GPU 会重新训练链路",
  "normal where no bridge is mounted on it; else look at the bridge":
    "没有安装桥接器时属正常；否则请检查桥接器",
  "normal where fewer bridges are mounted than would fit": "桥接器没有装满时属正常",
  "nothing to do while they do not become more": "只要不再增加，就无需处理",
  "start the job again; if it happens with other jobs too, tell the administrator":
    "请重新启动任务；若其他任务也出现，请告知管理员",
  "shut down and look at the power cables of the card": "请关机并检查显卡的供电线缆",
  "update driver and firmware together": "请同时更新驱动和固件",
  "ask the machine's administrator, with the lines of the kernel log":
    "请把内核日志的相关行发给机器管理员",
  "berth ps and berth leases say by what; ask whose it is, or berth stop":
    "berth ps 和 berth leases 会显示占用者；请询问其所有者，或使用 berth stop",
  "jobs that counted on the old one may need another start": "依赖旧环境的任务可能需要重新启动",
  "make room: berth counts what does not fit as lost": "请腾出空间：存不下的内容 berth 会计为丢失",
  "berth status says what was attempted, and what to do":
    "berth status 会说明尝试了什么、该怎么办",
};

/// A title before the evidence. Nothing: the evidence says it all in the reader's language, or the
/// page does not know this code.
export function finding_title(code: string | null): string | null {
  if (code === null || language() !== "zh") return null;
  const xid = /^xid_(\d+)$/.exec(code);
  return xid ? `XID ${xid[1]} 错误` : (titles[code] ?? null);
}

/// What an alert says, after the sense of its rule where the reader does not read English.
export function alert_text(alert: Pick<Alert, "rule" | "summary">): string {
  const title = language() === "zh" ? alert_titles[alert.rule] : undefined;
  return title === undefined ? alert.summary : `${title}: ${alert.summary}`;
}

export function advice_text(advice: string): string {
  if (language() !== "zh") return advice;
  for (const [said, shown] of Object.entries(advices)) {
    const [before = "", after = null] = said.split("{}");
    if (after === null ? advice !== said : !advice.startsWith(before) || !advice.endsWith(after)) continue;
    return shown.replace("{}", () => advice.slice(before.length, advice.length - (after?.length ?? 0)));
  }
  return advice;
}

// Every word of the panel in JupyterLab: English, 简体中文.

import { filled } from "../src/model/format";

const words = {
  title: ["GPUs (berth)", "GPU（berth）"],
  gpus: ["GPUs", "GPU"],
  no_gpus: ["There is no GPU here.", "此处没有 GPU。"],
  here: ["This notebook", "当前 notebook"],
  here_none: ["Its kernel uses no GPU.", "其内核未使用 GPU。"],
  here_no_kernel: ["No notebook with a kernel is in front.", "当前没有带内核的 notebook。"],
  mine: ["My kernels", "我的内核"],
  mine_none: ["None of {count} uses a GPU.", "{count} 个内核均未使用 GPU。"],
  mine_others: ["{count} more use no GPU.", "另有 {count} 个未使用 GPU。"],
  idle: ["Idle kernels that hold memory", "空闲却占用显存的内核"],
  idle_none: ["None.", "无。"],
  holders: ["Who holds what", "占用情况"],
  holders_none: ["Nobody computes.", "没有进程在计算。"],
  memory: ["Memory of GPU {gpu}", "GPU {gpu} 的显存"],
  load: ["Load of GPU {gpu}", "GPU {gpu} 的负载"],
  not_known: ["not known", "未知"],
  on: ["GPU {gpus}: {memory}", "GPU {gpus}：{memory}"],
  idle_for: ["idle for {time}", "已空闲 {time}"],
  busy: ["busy", "忙碌"],
  yours: ["yours", "你的"],
  shut_down: ["Shut down", "关闭"],
  shut_down_which: ["Shut down the kernel of {name}", "关闭 {name} 的内核"],
  ask: ["Shut down the kernel of {name}?", "要关闭 {name} 的内核吗？"],
  ask_more: [
    "It holds {memory} on GPU {gpus}. Its variables are lost; the notebook stays.",
    "它在 GPU {gpus} 上占用 {memory}。其变量将丢失，notebook 会保留。",
  ],
  cancel: ["Cancel", "取消"],
  failed: ["{name} was not shut down: {why}", "未能关闭 {name}：{why}"],
  done: ["{name} is shut down.", "{name} 已关闭。"],
  page: ["All of it: the page of berth serve", "查看全部：berth serve 的网页"],
  simulated: ["SIMULATED: {name}. No real GPU is shown.", "SIMULATED（模拟）：{name}。所示并非真实 GPU。"],
  unreachable: ["Jupyter does not answer: {why}. It is asked again.", "Jupyter 没有响应：{why}。将自动重试。"],
  free: ["free", "空闲"],
  reserved: ["reserved", "已预留"],
  leased: ["leased", "已租用"],
  busy_state: ["busy", "忙碌"],
  held: ["held idle", "占而不用"],
  failed_state: ["broken", "故障"],
  unknown: ["unknown", "未知"],
  divided: ["divided", "已划分"],
  lost: ["lost", "已掉线"],
  unusable: ["unusable", "不可用"],
} as const;

export type LabWord = keyof typeof words;

export function words_of(language: string): (word: LabWord, values?: Record<string, string | number>) => string {
  const column = /^zh/i.test(language) ? 1 : 0;
  return (word, values = {}) => filled(words[word][column], values);
}
export type Say = ReturnType<typeof words_of>;

/// A state that a newer berth may have stands as it was said.
export function state_word(say: Say, state: string): string {
  const word = state === "busy" || state === "failed" ? `${state}_state` : state;
  return word in words ? say(word as LabWord) : state;
}

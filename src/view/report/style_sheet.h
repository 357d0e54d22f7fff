#pragma once
// How a report looks: on a screen, light or dark, on a telephone and on paper. Each colour's
// contrast against its page is at least 4.5 for text and 3 for lines.

#include <string_view>

namespace berth {

inline constexpr std::string_view report_style_sheet = R"css(
:root{color-scheme:light dark;--page:#fff;--text:#1c2024;--soft:#596067;--rule:#d9dde1;--card:#f6f7f9;
--c0:#1f5fbf;--c1:#b4450b;--c2:#177245;--c3:#7c3aed;--c4:#b3246b;--c5:#0b6b7d;--c6:#7a5200;--c7:#4a5560;
--bad:#b3261e;--warn:#8a5300;--good:#177245;--sim:#ffd54a;--p0:#8fb7ee;--p1:#f1b48f;--p2:#95d1ae;--p3:#c9b3f5;--p4:#eda6c8;--p5:#c3c9cf}
@media screen and (prefers-color-scheme:dark){:root{--page:#15181b;--text:#e8eaed;--soft:#a4abb3;--rule:#3a4047;--card:#1d2125;
--c0:#7ab0ff;--c1:#ffa06b;--c2:#6fd79b;--c3:#c4a7ff;--c4:#ff9cc8;--c5:#6fdcef;--c6:#f0c65a;--c7:#c3ccd5;
--bad:#ff8f86;--warn:#f0c65a;--good:#6fd79b;--p0:#2f5a94;--p1:#8a4a22;--p2:#2b6b49;--p3:#5a3f96;--p4:#8a3563;--p5:#4a525b}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,"Segoe UI","Noto Sans","Noto Sans CJK SC","PingFang SC",sans-serif}
main,header,footer{max-width:1060px;margin:0 auto;padding:0 20px}
header{padding-top:28px}
h1{font-size:1.55rem;line-height:1.25;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:34px 0 12px;padding-bottom:5px;border-bottom:1px solid var(--rule)}
h3,h4{font-size:1rem;margin:18px 0 8px;overflow-wrap:anywhere}
p{margin:6px 0}
code,.command{font:13px/1.5 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.command{display:block;background:var(--card);border:1px solid var(--rule);border-radius:6px;padding:8px 12px;margin:8px 0}
.soft,footer{color:var(--soft);font-size:.87rem}
.sim{display:inline-block;background:var(--sim);color:#231c00;font-weight:700;padding:1px 10px;border-radius:4px;margin:0 0 10px}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:10px;margin:14px 0}
.tiles div{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:9px 13px}
.tiles dt{color:var(--soft);font-size:.8rem}
.tiles dd{margin:1px 0 0;font-size:1.02rem;font-weight:600;overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:14px}
figure{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:10px 12px 6px;break-inside:avoid;min-width:0}
figcaption{font-weight:600;font-size:.92rem}
figcaption .unit{color:var(--soft);font-weight:400}
.legend{display:flex;flex-wrap:wrap;gap:2px 14px;list-style:none;margin:0;padding:0;font-size:.8rem}
.legend li{display:flex;align-items:center;gap:6px}
svg{display:block;width:100%;height:auto}
svg.sample{width:34px;height:8px;flex:none}
svg text{font-size:10.5px;fill:var(--soft)}
svg .end{text-anchor:end}svg .middle{text-anchor:middle}
.grid path{stroke:var(--rule);fill:none}
.line{fill:none;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}
.shade{stroke:none;opacity:.2}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}.c7{stroke:var(--c7)}
.shade.c0{fill:var(--c0)}.shade.c1{fill:var(--c1)}.shade.c2{fill:var(--c2)}.shade.c3{fill:var(--c3)}.shade.c4{fill:var(--c4)}.shade.c5{fill:var(--c5)}.shade.c6{fill:var(--c6)}.shade.c7{fill:var(--c7)}
.d1{stroke-dasharray:7 4}.d2{stroke-dasharray:2 4}.d3{stroke-dasharray:9 3 2 3}.d4{stroke-dasharray:14 4}.d5{stroke-dasharray:5 2}.d6{stroke-dasharray:2 2}.d7{stroke-dasharray:12 3 3 3 3 3}
.mark path{stroke:var(--soft);stroke-width:.8;stroke-dasharray:1 2.5}.mark text{font-size:8.5px}
.event path{stroke:var(--bad);stroke-width:1.2;stroke-dasharray:4 2}
.level path{stroke:var(--soft);stroke-width:1;stroke-dasharray:6 3}
.level text{font-size:9.5px;paint-order:stroke;stroke:var(--card);stroke-width:3px}
.phase{opacity:.35}.p0{fill:var(--p0)}.p1{fill:var(--p1)}.p2{fill:var(--p2)}.p3{fill:var(--p3)}.p4{fill:var(--p4)}.p5{fill:var(--p5)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem}
caption{text-align:start;font-weight:600;padding:0 0 6px}
th,td{text-align:start;vertical-align:top;padding:4px 12px 4px 0;border-bottom:1px solid var(--rule);overflow-wrap:anywhere}
th{font-weight:600}tbody th{font-weight:400;color:var(--soft);min-width:9em}
td{min-width:6em}
.even{table-layout:fixed;min-width:26em}.even th:first-child{width:30%}
.differs td{font-weight:600}
.finding{border-inline-start:4px solid var(--soft);padding:2px 0 2px 14px;margin:14px 0;break-inside:avoid}
.finding.error{border-color:var(--bad)}.finding.warning{border-color:var(--warn)}
.finding h3{margin-top:0}
.error .word{color:var(--bad)}.warning .word,.speed{color:var(--warn)}.results{color:var(--bad)}
ul{margin:6px 0;padding-inline-start:20px}
footer{border-top:1px solid var(--rule);margin-top:36px;padding-top:12px;padding-bottom:30px}
@media (max-width:520px){main,header,footer{padding-inline:14px}.tiles{grid-template-columns:1fr 1fr}th,td{padding-inline-end:8px}tbody th{min-width:7em}}
@media print{@page{margin:14mm}body{font-size:11px}main,header,footer{max-width:none;padding-inline:0}.charts{grid-template-columns:1fr 1fr}h2,h3{break-after:avoid}tr{break-inside:avoid}figure,.tiles div,.command,.sim,.shade,.phase{print-color-adjust:exact;-webkit-print-color-adjust:exact}.scroll{overflow:visible}}
)css";

}  // namespace berth

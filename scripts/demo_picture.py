"""Draws docs/demo.svg from the JSON of `noregret demo`.

    cargo run --release -- demo --quiet --json - | python3 scripts/demo_picture.py > docs/demo.svg
"""

import json
import math
import sys

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 40, 52
INK, SOFT = "#1f2933", "#9aa5b1"


def main():
    summary = json.load(sys.stdin)
    # The first examples only fill the picture: nothing can be proved from a handful.
    history = [row for row in summary["history"] if row["examples"] >= 64]
    first, last = math.log2(history[0]["examples"]), math.log2(history[-1]["examples"])
    top = 1.0

    def x(examples):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(examples) - first) / (last - first)

    def y(loss):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(loss, top) / top

    def path(points, colour, width=2.5, dash=""):
        line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        return (f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}" '
                f'stroke-linejoin="round"{dash}/>')

    upper = [(row["examples"], row["average_loss"]) for row in history]
    lower = [(row["examples"], row["best_at_least"]) for row in history]
    band = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in upper + lower[::-1])
    best = summary["proof"]["best"]["at_most"]
    end = history[-1]["examples"]
    regret = math.ceil(summary["certificate"]["regret_at_most"] * 1e6) / 1e6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" fill="{INK}" font-size="15" font-weight="600">'
        f'{end:,} examples, one pass: the loss, and the proved limit</text>',
    ]
    for loss in [0, 0.2, 0.4, 0.6, 0.8, 1.0]:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(loss):.1f}" y2="{y(loss):.1f}" '
                     f'stroke="#e4e7eb"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end" fill="{INK}">{loss:g}</text>')
    for power in range(6, int(last) + 1, 3):
        parts.append(f'<text x="{x(2 ** power):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" '
                     f'fill="{INK}">{2 ** power:,}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle" '
                 f'fill="{INK}">examples</text>')
    parts.append(f'<text x="16" y="{HEIGHT / 2}" fill="{INK}" text-anchor="middle" '
                 f'transform="rotate(-90 16 {HEIGHT / 2})">average logistic loss</text>')
    parts.append(f'<polygon points="{band}" fill="#dbeafe" opacity="0.7"/>')
    parts.append(path(upper, "#1d4ed8"))
    parts.append(path(lower, "#b45309"))
    parts.append(path([(history[0]["examples"], best), (end, best)], SOFT, 1.5, ' stroke-dasharray="5 4"'))
    right = WIDTH - RIGHT + 10
    parts.append(f'<text x="{right}" y="{y(upper[-1][1]) - 14:.1f}" fill="#1d4ed8">lost {upper[-1][1]:.4f}</text>')
    parts.append(f'<text x="{right}" y="{y(best) + 5:.1f}" fill="#52606d">true best {best:.4f}</text>')
    parts.append(f'<text x="{right}" y="{y(lower[-1][1]) + 22:.1f}" fill="#b45309">'
                 f'best at least {math.floor(lower[-1][1] * 1e4) / 1e4:.4f}</text>')
    parts.append(f'<text x="{right}" y="{y(lower[-1][1]) + 44:.1f}" fill="{INK}">regret at most {regret:.6f}</text>')
    parts.append(f'<text x="{right}" y="{y(lower[-1][1]) + 60:.1f}" fill="{INK}">(proved in one pass)</text>')
    parts.append("</svg>")
    print("\n".join(parts))


if __name__ == "__main__":
    main()

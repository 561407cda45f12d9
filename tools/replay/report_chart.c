/* SPDX-License-Identifier: MIT */
#include "report_chart.h"
#include "report_page.h"

/* Writes "<before>text<after>" with the text escaped. */
static void put(FILE *out, const char *before, const char *text,
                const char *after)
{
    fputs(before, out);
    report_escape(out, text);
    fputs(after, out);
}

void report_chart_begin(FILE *out, const struct report_chart *chart,
                        double height)
{
    put(out, "<figure>\n<figcaption><b>", chart->title, "</b> ");
    put(out, "", chart->caption, "</figcaption>\n");
    fprintf(out,
            "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" "
            "aria-labelledby=\"%s-title %s-text\">\n",
            REPORT_CHART_WIDTH, height, chart->id, chart->id);
    fprintf(out, "<title id=\"%s-title\">", chart->id);
    put(out, "", chart->title, "</title>\n");
    fprintf(out, "<desc id=\"%s-text\">", chart->id);
    put(out, "", chart->caption, "</desc>\n");
}

void report_chart_end(FILE *out)
{
    fputs("</svg>\n</figure>\n", out);
}

/* A label at the ends of the axis leans inwards. */
static const char *anchor(const struct report_axis *axis, double x)
{
    return x > axis->right - 1 ? "end" : "middle";
}

void report_chart_axis(FILE *out, const struct report_axis *axis, double top,
                       double bottom, report_printer *print, const char *title)
{
    char text[REPORT_TEXT_MAX];

    for (size_t i = 0; i < axis->tick_count; i++) {
        double x = report_axis_x(axis, axis->ticks[i]);

        print(text, axis->ticks[i]);
        report_text_trim(text);
        fprintf(out,
                "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>"
                "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"%s\">%s</text>\n",
                x, top, bottom, x, bottom + 15, anchor(axis, x), text);
    }
    fprintf(out,
            "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"middle\">%s</text>\n",
            (axis->left + axis->right) / 2, bottom + 32, title);
}

void report_chart_name(FILE *out, double y, const char *name)
{
    fprintf(out,
            "<text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
            REPORT_CHART_LEFT - 8, y + 4);
    report_escape(out, name);
    fputs("</text>\n", out);
}

void report_chart_value(FILE *out, double y, const char *text)
{
    fprintf(out,
            "<text class=\"value\" x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%s</text>\n",
            REPORT_CHART_WIDTH - 2, y + 4, text);
}

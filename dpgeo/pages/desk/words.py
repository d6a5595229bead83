"""Words that other rooms have for what the desk shows, and how the desk says them.

Those rooms know no framework or answer programs, so they speak English; here it is turned into a
reader's language. A test keeps these lists and the rooms in step.
"""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _


def translated(text: str) -> str:
    """A sentence of another room in the page's language; as it is where there is none."""
    return gettext(text) if text else ""


def parameter_label(name: str) -> str:
    """What a mechanism's parameter is called: "look_share" is "Look share"."""
    return gettext(name.replace("_", " ").capitalize())


REGIONS = {
    _("cell"): _("cells"),
    _("partition"): _("partitions"),
    _("cluster"): _("clusters"),
    _("unit and cluster"): _("units and clusters"),
    _("area"): _("areas"),
    _("zone"): _("zones"),
}
"""What a mechanism counts in: one, and many."""

MECHANISM_WORDS = (
    # What each is for.
    _(
        "Looks how much the budget can show, then counts small squares where people crowd and "
        "large ones elsewhere. The best choice unless you know better."
    ),
    _("Equal squares, each with its own noise. Simple, and best where counts are large."),
    _("Fine cells where people crowd and large boxes elsewhere, drawn around a noisy look."),
    _("Squares of two sizes: crowded ones are cut finely, quiet ones are left whole."),
    _("Squares of every size counted and reconciled. Good for sums over regions of any size."),
    _("A quadtree cut down to streets where people are; empty country stays one box."),
    _("Very fine cells, of which only the crowded ones are listed: a country at 50 m."),
    _("A map for each part of the day or day of the week, with a slider to go through them."),
    _("A few centres where people gather, each with a count of those around it."),
    _(
        "Places of made-up people, drawn near those of real ones in their city or district. "
        "Most of them are noise unless people have many records: consider private clusters "
        "first."
    ),
    _("One count for each of your declared zones, such as wards or tracts."),
    _("Lines of equal density on equal squares, from which tasks can be planned."),
    _(
        "Every report as a point, moved by noise so that nobody can tell where it was made. "
        "That it was made shows."
    ),
    # Names of parameters.
    _("Cells"),
    _("Strictness"),
    _("Answers"),
    _("Cell share"),
    _("Splitting"),
    _("Look share"),
    _("Square share"),
    _("Allocation"),
    _("Inference"),
    _("Split share"),
    _("Threshold"),
    _("Slices"),
    _("Clusters"),
    _("Rounds"),
    _("People"),
    _("Places"),
    _("Hidden"),
    _("Clustering"),
    _("Weights"),
    _("Zones"),
    _("Smoothing"),
    _("Levels"),
    _("First"),
    _("Lines"),
    _("Level"),
    _("Radius"),
    _("Time"),
    _("Attributes"),
    _("Prior"),
    _("Padded"),
    # What they mean.
    _("Cells along each side of the finest map."),
    _("Cells along each side."),
    _(
        "Beside the counts, show those below a threshold as 0: at 100 percent less than one "
        "empty cell of the whole grid is expected to reach it, at 0 there is none."
    ),
    _(
        "How a cell is estimated: an even share of its partition, or cell and partition counts "
        "reconciled by least squares (sharper and noisier)."
    ),
    _(
        "Percent of epsilon spent on the cells that partitions are drawn around; the rest "
        "counts the partitions."
    ),
    _(
        "When a partition is cut: on the cells' variance alone, or also where noise could hide "
        "an unevenness that matters."
    ),
    _("Cells along each side of the grid whose lines all squares follow: the finest detail."),
    _("Percent of epsilon spent on the total, from which the number of squares follows."),
    _(
        "Percent of what the look leaves that is spent on the squares; the rest counts the "
        "partitions they are cut into."
    ),
    _("Cells along each side, the smallest squares; powers of two are cut most evenly."),
    _("How epsilon is divided over the levels: more for smaller squares, or alike."),
    _(
        "How cells are estimated: all levels reconciled by least squares, or also shrunk "
        "towards what their surroundings suggest, as auto does (less noise, no exact standard "
        "error)."
    ),
    _("Cells along each side, at which cutting ends; powers of two are cut most evenly."),
    _("Percent of epsilon spent on deciding where to cut; the rest counts the partitions."),
    _(
        "How strict the threshold is, in percent: at 100 less than one empty cell of the whole "
        "grid is expected to be listed, at 50 about the root of their number."
    ),
    _("List cells from this noisy count on; 0 chooses it by the strictness."),
    _("Cells along each side, of each slice."),
    _(
        "How local time is cut: parts of the day of so many hours, days of the week, or "
        "working days and weekends."
    ),
    _("How many centres to place."),
    _("How often centres are moved. With fewer than some thousand people, one round is best."),
    _("Cells along each side of the grid that positions are rounded to."),
    _(
        "How many made-up people to publish places of. Everybody in the data is dealt to one "
        "of them by lot: of a guessed number of people, twice as many leave six in ten alone. "
        "The number is published; do not count people in the data."
    ),
    _(
        "The declared places and their units. Without them, blocks, quarters and districts of "
        "a grid."
    ),
    _("Levels to hide: 1 hides the finest, such as streets; 2 the next as well."),
    _("How many clusters to divide the places into."),
    _("How often the clusters' centres are moved."),
    _("Percent of epsilon spent on the clusters."),
    _("Percent of epsilon spent on how many places everybody has."),
    _("Blocks along each side of the grid where no places are declared."),
    _("The declared layer of zones to count in; empty for the only one."),
    _(
        "How the surface follows from the noisy cells: inferred from each cell and its "
        "surroundings, blurred over nine cells, or none."
    ),
    _(
        "Where lines run: noise begins with what at most one empty cell in a thousand reaches "
        "and doubles; doubling and equal begin with the declared first line."
    ),
    _(
        "The first declared line, in people per square kilometre; without a meaning where "
        "levels follow the noise."
    ),
    _("Lines at most."),
    _(
        "How much the odds may change for a report that is moved by the radius: e to the power "
        "of this, such as ln(4) for four to one."
    ),
    _("Metres within which the level holds."),
    _("Cells along each side of the density that is recovered from the points."),
    _(
        "What is published of a report's time. Times are protected by nothing, and those of "
        "one person can be told together."
    ),
    _(
        "Publish beside every point what was declared public of its report. It is protected by "
        "nothing, and by it reports of one person can be told together."
    ),
    _(
        "A declared public density by which every moved point is put where its report was most "
        "likely made. It brings points nearer to their reports, and gathers them where people "
        "are expected."
    ),
    _(
        "Give everybody in the data exactly as many points as the bound allows: who made fewer "
        "reports gets points of made-up ones anywhere in the study area, so that their number "
        "does not show. Times and attributes have to be dropped."
    ),
    # What can be chosen.
    _("uniform"),
    _("least-squares"),
    _("suspicion"),
    _("variance"),
    _("geometric"),
    _("equal"),
    _("surroundings"),
    _("6 hours"),
    _("4 hours"),
    _("3 hours"),
    _("12 hours"),
    _("days of the week"),
    _("working days and weekends"),
    _("none"),
    _("blurred"),
    _("inferred"),
    _("noise"),
    _("doubling"),
    _("dropped"),
    _("day"),
    _("hour"),
    _("exact"),
)

STATES = (
    _("Waiting for its columns to be confirmed"),
    _("Queued"),
    _("Ready"),
    _("Failed"),
    _("Deleted, because a person was erased"),
    _("Draft"),
    _("Published"),
    _("Withdrawn"),
    _("Refused"),
    _("Running"),
    _("Done"),
    _("Cancelled"),
)
"""Of uploads, jobs and releases."""

CHOICES = (
    # What a key may be used for.
    _("Declare datasets and change what is not fixed yet"),
    _("Send files and confirm their columns"),
    _("Quote, request and cancel releases, and see drafts"),
    _("Publish, refuse and withdraw releases, and see drafts"),
    _("See whether jobs are queued, running or done"),
    _("See budgets and what is left of them"),
    _("Give datasets that it declares budgets of their own"),
    _("See, keep and delete campaigns of tasks"),
    # Kinds of layers.
    _("Zones: polygons to count in"),
    _("Density"),
    # What a column holds.
    _("longitude"),
    _("latitude"),
    _("person"),
    _("time"),
    _("geometry"),
)

REASONS = (
    _("the line is longer than 65,536 bytes"),
    _("the text is not UTF-8; save the file with that encoding"),
    _("an unclosed quote (a line break within quotes is not read)"),
    _('a quotation mark inside a field; quote the whole field and write "" for each'),
    _("more or fewer fields than the header has"),
    _("the line is not JSON, or JSON nested too deeply"),
    _("the record is not a GeoJSON feature"),
    _("the feature is longer than 65,536 bytes"),
    _("a declared field is a list, an object, true or false, not text or a number"),
    _("a declared field is longer than 1,000 bytes"),
    _("the person is missing"),
    _("the person is a number that is not whole or too large to be exact"),
    _("the person was erased from this dataset"),
    _("the latitude is missing"),
    _("the latitude has a decimal comma; write it as 40.72"),
    _("the latitude is NaN or infinite"),
    _("the latitude is not a number"),
    _("the latitude is outside -90 to 90 degrees"),
    _("the longitude is missing"),
    _("the longitude has a decimal comma; write it as -73.99"),
    _("the longitude is NaN or infinite"),
    _("the longitude is not a number"),
    _("the longitude is outside -180 to 180 degrees"),
    _("the geometry is missing or empty"),
    _("the geometry cannot be read"),
    _("the geometry is not a point"),
    _("the position cannot be in the declared coordinate system"),
    _("the position is outside the study area"),
    _("the time is missing"),
    _("the time is neither ISO 8601 nor seconds since 1970"),
    _("the time is outside the years 1000 to 2999 (numbers are seconds since 1970)"),
)
"""Why rows are refused."""

HINTS = (
    _(
        "The coordinates have a decimal comma. Rows with one are refused: export the numbers "
        "with a decimal point."
    ),
    _("None of the first rows has a longitude and a latitude that are numbers."),
    _(
        "The coordinates look projected (metres or feet), not degrees. Declare the code of "
        "their coordinate system, or reproject them to EPSG:4326 first."
    ),
    _("Latitude and longitude look swapped. Exchange the two columns."),
    _("Longitudes go beyond 180. Rows with one are refused: subtract 360 from those."),
    _("None of the first rows lies in the study area."),
)
"""What looks wrong about a file's first rows."""

CAUTIONS = (
    _("Only counts from {least} stand out, which hardly any place has."),
    _(
        "Nothing can stand out: that takes {least}, and you guess that there are {people} "
        "people in all."
    ),
    _(
        "Not even the busy place you guess would stand out: it counts some {busy}, and "
        "standing out takes {least}."
    ),
    _("Spend more epsilon, lower the bound, or count in larger areas."),
    _(
        "A total epsilon above {limit} promises next to nothing: whether a person is in the "
        "data may change the odds of anything published by a factor {odds}. Lower it before "
        "the first publication."
    ),
)
"""What is said before something is paid for or promised."""

"""Words that other rooms have for what the desk shows, and how the desk says them.

Those rooms know no framework or answer programs, so they speak English; here it is turned into a
reader's language. A test keeps these lists and the rooms in step.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from dpgeo.pages.templatetags.figures import in_language


def translated(text: str) -> str:
    """A sentence of another room in the page's language; as it is where there is none.

    A sentence of REFUSALS is known by what stands around its figures and names.
    """
    said = gettext(text) if text else ""
    if said != text or text in REFUSALS:
        return said
    for sentence, pattern in _patterns():
        if found := pattern.fullmatch(text):
            filled = {name: _in_language(value) for name, value in found.groupdict().items()}
            return gettext(sentence).format(**filled)
    return text


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The sentences of REFUSALS with something filled in, and what finds it again."""
    found = []
    for sentence in REFUSALS:
        pieces = re.split(r"{(\w+)}", sentence)
        if len(pieces) > 1:
            fixed, names = pieces[::2], pieces[1::2]
            groups = [*(f"(?P<{name}>.+?)" for name in names), ""]
            text = "".join(
                re.escape(piece) + group for piece, group in zip(fixed, groups, strict=True)
            )
            found.append((sentence, re.compile(text, re.DOTALL)))
    return tuple(found)


def _in_language(value: str) -> str:
    """A figure with the separators of the page's language; words such as "person" and "level ln 4
    within 200 m" in it.
    """
    figure = re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)?", value)
    return in_language(value) if figure else translated(value)


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
    _("Rejected"),
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
    _("Publish, reject and withdraw releases, and see drafts"),
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

REFUSALS = (
    _("epsilon {epsilon}"),
    _("level {level} within {radius} m"),
    _("Give the key a name of 1 to 100 characters that says where it is used."),
    _("Keys are managed by the administrators of their organisation; ask one."),
    _("Choose what the key may be used for, from {scopes}."),
    _("Only members of its organisation change a campaign; ask one."),
    _("Only members of its organisation delete a campaign; ask one."),
    _("Give the campaign a name of 1 to 200 characters."),
    _(
        "This dataset has no budget for points; declare one, such as ln(16) within 200 m, "
        "before anything is published."
    ),
    _("The budget changed meanwhile; ask again."),
    _(
        "A published release promises that nothing ever shows whether somebody is in the data "
        "beyond the stated odds; points would. Declare a new dataset about other people, with "
        "a budget for points from the start."
    ),
    _("This job has been paid for already; it is not charged twice."),
    _(
        "A published release promises a total of {promised} to the people in the data; the "
        "budget can be lowered, not raised."
    ),
    _("{spent} is already spent; the budget cannot be less."),
    _("The levels of this budget are told within {radius} m; keep that radius."),
    _(
        "This release states a total budget of {total}, and the budget was raised since. Lower "
        "it again, or request the release anew."
    ),
    _("Guess a share above 0 and at most 1: 0.01 is one place in a hundred."),
    _("Guess from 1 to {most} people, such as 10,000."),
    _("Guess from 1 to {most} places a person, such as 20."),
    _("Must be a finite number, such as 0.5."),
    _("Must be greater than zero, such as 0.5."),
    _("Must be at most {most}; above about 10 nobody is protected."),
    _("{value} is not a number; write it like 0.5."),
    _("Must be greater than zero, such as ln(4): by how much the odds may change."),
    _("Give at most six decimals, such as 1.386294."),
    _("Is too small for this radius; nothing could be published."),
    _("Must be at most {most}; that hides nothing."),
    _("Must be a whole number of metres from 1 to {most}, such as 200."),
    _("{value} is not a level; write it like ln(4) or 1.4."),
    _(
        "Is too small for this bound: noisy counts would not fit 64 bits. Raise epsilon or "
        "lower the bound."
    ),
    _("Is too small for this radius to be drawn with the numbers that computers have; raise it."),
    _("{value} is not a choice; choose from {choices}."),
    _("{value} is not a whole number; write it like {example}."),
    _("Must not be empty; write a few words."),
    _("Contains a control character; remove it."),
    _("Must be a GeoJSON Polygon or MultiPolygon with longitude first."),
    _("A name or value holds a line break; write it in one line."),
    _("Has {size} characters; shorten it to at most {most}."),
    _("Has {size} corners; simplify it to at most {most}."),
    _("Their values make more than {most} combinations; declare fewer."),
    _(
        "{value} stands twice among the values of {column}; {other} is always one of them and "
        "not to be listed."
    ),
    _("List from 1 to {most} values of {column}; every other one is published as {other}."),
    _("Only the stewards of this dataset may do this."),
    _("Rows of this dataset have no person; upload a file without the rows to be erased."),
    _("This dataset has no data."),
    _("This is no identifier of a person."),
    _("A file is being read; ask again when that is done."),
    _("Only the stewards of this dataset may declare its layers."),
    _("Shorten it to at most 60 characters."),
    _(
        "A release was asked for with this layer, and rests on it for good; declare another "
        "one under another name."
    ),
    _("A dataset has at most {most} layers; remove one that is unused."),
    _("The prepared data of this upload are gone; upload the file again."),
    _("This ledger belongs to another organisation."),
    _(
        "This was fixed when the first upload was confirmed, because releases rest on it; "
        "declare a new dataset that shares this one's budget."
    ),
    _(
        "The budget is shared with {title}, which protects each {other} and not each {unit}; "
        "such epsilons do not add up. Choose the same unit, or a budget of its own."
    ),
    _("The file is empty; choose another."),
    _("The uploaded file is not kept; upload it again."),
    _("Confirm the columns of this upload first."),
    _("Another file is being read; change the columns when that is done."),
    _("A person is being erased from this dataset; confirm when that is done."),
    _("This upload is confirmed already."),
    _("This upload is being read or was read; it stays on record."),
    _("The file is larger than the {size} GB allowed here; split it, or compress it as Parquet."),
    _("The file has no column {name}; it has {columns}."),
    _("Releases rest on the columns of the first upload ({columns}); rename those of this file."),
    _(
        "Reading the file takes far too long; it is damaged, or made in an unusual way. Export "
        "it again, for example as CSV."
    ),
    _("This machine is too busy to look at the file just now; try again in a while."),
    _("The file is damaged in a way that breaks its reader; export and upload it again."),
    _("The file has only blank lines; its first line must name the columns."),
    _(
        "The header line is longer than 1 MiB; keep only the columns a map needs: person, "
        "position and time."
    ),
    _("The header is not UTF-8 text; save the file with the encoding UTF-8."),
    _(
        "The header has a quotation mark out of place or a name that is far too long; correct "
        "the first line."
    ),
    _(
        "This JSON has no list of features within its first MiB; export it as a GeoJSON "
        "FeatureCollection of points."
    ),
    _(
        "This is an SQLite database but no GeoPackage; export the layer as GeoPackage, "
        "GeoParquet or CSV."
    ),
    _("The file has no header; its first line must name the columns."),
    _("The Parquet file is encrypted; write it without encryption."),
    _("Name either the geometry column or the longitude and latitude columns, not both."),
    _("The name of this column holds a control character; rename the column."),
    _("The file is empty (0 bytes); check that it was exported whole."),
    _(
        "The name says Parquet, but the file is not one (it does not begin with PAR1); write "
        "it again, or give a CSV file a name that ends in .csv."
    ),
    _(
        "This looks like a JSON list; export it as GeoJSON, one FeatureCollection or one "
        "feature a line, or as CSV."
    ),
    _("This looks like a web page or XML; download the table itself, as CSV or Parquet."),
    _(
        "The first line contains zero bytes: this is not text, or it is UTF-16; save it as CSV "
        "in UTF-8."
    ),
    _("This is a spreadsheet or document; save the sheet as CSV."),
    _("The compressed file is damaged or cut short; pack it and upload it again."),
    _("The archive is packed in a way that is not read; use plain zip or gzip."),
    _(
        "The file has {number} columns; at most {most} are read. Keep only those a map needs: "
        "person, position and time."
    ),
    _("The header names {names} more than once; give each column a name of its own."),
    _(
        "The column {name} is declared both as {role} and as {other}; choose another for one "
        "of them."
    ),
    _(
        "There is no coordinate system {name}; give its code, such as EPSG:4326 for longitude "
        "and latitude in degrees or EPSG:25832 for UTM zone 32."
    ),
    _("The job has started or ended already; it can no longer be cancelled."),
    _("Only a failed job that is still paid for can be tried again; ask anew."),
    _(
        "The work broke off after noise was drawn. To draw again would be to choose among "
        "draws, so what it cost stays spent; ask for a release anew, perhaps of another "
        "mechanism, and report this as a fault."
    ),
    _(
        "Files of this release are gone: it was rejected or withdrawn after the backup that was "
        "restored. Reject it again, or put the files back."
    ),
    _("A part of the points was damaged in the storage; ask for a release anew."),
    _("You may not request releases of this dataset; ask its stewards."),
    _("This dataset has no data yet; upload a file and confirm its columns."),
    _("A layer was removed a moment ago; choose another."),
    _("Publishing needs the approver's role; ask an approver."),
    _("Rejecting needs the approver's role; ask an approver."),
    _("Withdrawing needs the approver's role; ask an approver."),
    _("Only a draft can be rejected; what is published can be withdrawn."),
    _(
        "A budget for points was declared since this was requested, and the release does not "
        "state it. Request the release anew."
    ),
    _("Only a published release can be withdrawn."),
    _("There is no draw to finish from; ask for a release anew."),
    _("Only a finished draft can be published."),
    _("Must be from 1 to {most}: how much of one person enters the map at most."),
    _(
        "The budget for points is told within {radius} m, and for a larger radius points are "
        "put on a coarser grid than that allows. Choose a radius of at most {most} m."
    ),
    _("{mechanism} does not count in public places; give random."),
    _(
        "Points that are made up have no times; choose dropped, or leave everybody the points "
        "they have."
    ),
    _(
        "Points that are made up have no attributes, and drawn ones would tell them from the "
        "others; drop these, or leave everybody the points they have."
    ),
    _(
        "No attribute of this dataset was declared public before its first file was confirmed; "
        "leave them out."
    ),
    _(
        "Must be at most {most} where everybody is given so many points; choose a lower bound, "
        "or leave everybody the points they have."
    ),
    _(
        "Is larger than the study area, which is {across} m across; within it nothing could be "
        "told apart. Choose a smaller radius."
    ),
    _(
        "Every visible unit has a single place, so nothing is hidden; hide more levels, or "
        "declare more places."
    ),
    _(
        "Clusters and weights together take more than 95 percent of epsilon; leave some for "
        "the replacement."
    ),
    _(
        "This dataset has no column of times. Choose another mechanism, or declare a dataset "
        "whose file has one."
    ),
    _("Is more than the {most} places there are; ask for fewer."),
    _(
        "Some {expected} empty cells would be listed; {most} fit in memory. Raise epsilon, the "
        "threshold or the strictness, or take fewer cells."
    ),
    _(
        "There are {number} maps, from {first} to {last}, in local time ({zone}). What one "
        "person may add is for all of them together."
    ),
    _("Hiding {names}: two places of one {unit} are up to {distance} km apart."),
    _(
        "Every made-up person gets some {each} places that are noise, and at most {bound} of "
        "each real one dealt to it. Private clusters show where people gather with far less "
        "noise."
    ),
    _(
        "The numbers in {column} are read as seconds since 1970 ({first}). If they count "
        "something else, declare no time column or export the times as ISO 8601."
    ),
    _("Asked for {asked}, but {left} of {total} is left; ask for at most {most}."),
    _("Asked for {asked}, but {left} of {total} is left; nothing is left to ask for."),
    _("Has more than six decimals; round it so that the ledger can hold it exactly."),
    _("None is declared yet; declare one on the dataset's page first."),
    _("{name} is not declared; choose from {known}."),
    _("The Parquet file is damaged or cut short; export and upload it again."),
    _(
        "The GeoPackage is damaged, cut short or no plain GeoPackage; export the layer of "
        "points again, into a new file."
    ),
    _("This is a zipped shapefile; export it as GeoPackage or GeoParquet."),
)
"""What other rooms say of a request that they refuse, of a file that they cannot read, and of a
release that they forecast. Names in braces stand for what is filled in there."""

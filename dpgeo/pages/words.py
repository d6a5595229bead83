"""The words of the scripts in a reader's language; what stands in templates is translated there.

English is written in the scripts themselves (`frontend/src/ui/translate.ts`), so a page of that
language hands over nothing. A test keeps this list and the scripts in step.
"""

from __future__ import annotations

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _


def script_words() -> dict[str, str]:
    """The English words of the scripts and what they are in the page's language."""
    if (get_language() or "en").split("-")[0] == "en":
        return {}
    return {word: gettext(word) for word in (*WORDS, *ANSWERS, *SLICES)}


WORDS = (
    _(", as measured on invented maps"),
    _(", by a formula"),
    _(", for the noise alone"),
    _("A moved report"),
    _("A moved report ({shown} of {count} drawn)"),
    _("A polygon of this file has a corner that is not a longitude and a latitude in degrees."),
    _("Adding up…"),
    _("All {size} sent; looking at its first rows"),
    _("An area needs three corners at least."),
    _("Asking everybody in reach would do it with {chance} %."),
    _("At most {most} tasks are planned at once."),
    _("Bands between contour lines"),
    _("Below the lowest line"),
    _("Cannot be told from zero"),
    _("Click each corner; click twice or press Enter at the last. Escape stops."),
    _("Cluster {number}"),
    _("Divider between the two maps"),
    _("Drag across the map from corner to corner. Escape stops."),
    _("Each box, small or large, is {range} {counting}{how}."),
    _("Each cell is {range} {counting}{how}."),
    _("Each cluster is {range} {counting}."),
    _("Each count is {range} {counting}."),
    _("Each side must be a number of degrees, such as 12.58."),
    _("Each stands for a made-up person's, and most may be noise."),
    _("Each zone is {range} {counting}."),
    _("Half moved up to {near} m, 95 % up to {far} m"),
    _("It was not kept ({status})."),
    _("Kept, at "),
    _("Larger is less sure"),
    _("Larger where more were drawn ({count} in all)"),
    _("Longitudes lie between -180 and 180, latitudes between -90 and 90."),
    _("Margin (±) of people per zone"),
    _("Margin (±) of people per {side} square"),
    _("Margin (±) of visits per zone"),
    _("Margin (±) of visits per {side} square"),
    _("Part of this page did not load, so the map stands still; reload the page to try again."),
    _("People"),
    _("People per cluster, once in each small cell"),
    _("People per square kilometre"),
    _("People per zone"),
    _("People per {side} square"),
    _("Remove {name}"),
    _("Reports, each moved at random"),
    _("See it as a picture"),
    _("South must be less than north."),
    _("Stands out from noise"),
    _("Stopped. Nothing was kept."),
    _("Task {number}"),
    _("That a report was made shows, and how many there are; not where."),
    _("The area could not be added up ({status})."),
    _("The connection broke before the file had arrived; send it again."),
    _("The first line names no longitude and latitude. Call the columns so, or lon and lat."),
    _("The first {shown} of {count} tasks; all are on the map and in the files."),
    _(
        "The link holds the settings, but {most} tasks at most. Send the file along, or "
        "keep the campaign."
    ),
    _("The link is copied, tasks and settings in it."),
    _("The link is copied; it holds all that you see."),
    _(
        "The map's data did not load ({status}). The table and the files below hold the "
        "same figures; reload the page to try again."
    ),
    _("The map's shapes did not load ({status})."),
    _("The picture is made."),
    _("The plan was refused ({status})."),
    _("The server answered {status}; try again."),
    _("The server did not answer; try again."),
    _("The study area is {width} km wide and {height} km high."),
    _("These shapes are too many to be drawn here. Take the files."),
    _("This browser could not make the picture."),
    _(
        "This browser has no WebGL, so tasks cannot be placed by clicking. Upload them or "
        "type their places."
    ),
    _("This browser has no WebGL, so the map stands still. The table holds its figures."),
    _("This file begins like GeoJSON and is not. Export it again."),
    _("This file holds no polygon."),
    _("This file holds no task. Give CSV with columns longitude and latitude, or GeoJSON points."),
    _("This file holds {count} tasks, and {most} are planned at once. Divide it."),
    _("This file is not GeoJSON: it cannot be read as JSON."),
    _("This file is too large; outlines of up to 2 MB can be added up here."),
    _("This outline is too detailed for the link."),
    _("Try again"),
    _("Visits"),
    _("Visits per cluster"),
    _("Visits per square kilometre"),
    _("Visits per zone"),
    _("Visits per {side} square"),
    _("West must be less than east."),
    _("Your area"),
    _(
        "Your square shows {count}, give or take {margin}. Whether you were there changes "
        "the odds of any such picture by at most a factor {odds}."
    ),
    _("cannot be told from zero"),
    _("in regions ({count}): {people}"),
    _("in {count} cells, {each} per {side} square"),
    _("made within the inner circle one time in two, within the outer one 19 times in 20"),
    _("nearest to this centre"),
    _("no connection"),
    _("noise can push a count below zero"),
    _("not met"),
    _("of {count}"),
    _("outside the study area"),
    _("people"),
    _("people per km²"),
    _("regions do not suffice"),
    _("times drawn"),
    _("visits"),
    _("visits per km²"),
    _("{counting}, between {low} and {high} in 95 of 100 releases like this one."),
    _("{count} tasks read."),
    _("{low} to {high}"),
    _("{percent} % of {size} sent"),
)

ANSWERS = (
    _("Its coordinates are not a longitude and latitude in degrees; correct them."),
    _("It lies outside the study area, where the map says nothing; move it."),
    _("A target of 100 % is never reached: nobody is sure to accept. Lower the target."),
    _("Nobody travels 0 metres; raise the travel limit."),
    _("The map shows nobody within the travel limit; move it or raise the limit."),
    _(
        "Too few people live within the travel limit, whatever is paid; lower the target, "
        "raise the limit or move it."
    ),
    _("Its reward is below the least that anybody accepts; raise it."),
    _(
        "The total reward does not give every task the least that anybody accepts; raise "
        "it or plan fewer tasks."
    ),
    _(
        "At this reward the target would take people from beyond the travel limit; raise "
        "the reward or lower the target."
    ),
)
"""What the planner answers in English, and the page says in its own language."""

SLICES = (
    _("00:00 to 03:00"),
    _("03:00 to 06:00"),
    _("06:00 to 09:00"),
    _("09:00 to 12:00"),
    _("12:00 to 15:00"),
    _("15:00 to 18:00"),
    _("18:00 to 21:00"),
    _("21:00 to 24:00"),
    _("00:00 to 04:00"),
    _("04:00 to 08:00"),
    _("08:00 to 12:00"),
    _("12:00 to 16:00"),
    _("16:00 to 20:00"),
    _("20:00 to 24:00"),
    _("00:00 to 06:00"),
    _("06:00 to 12:00"),
    _("12:00 to 18:00"),
    _("18:00 to 24:00"),
    _("00:00 to 12:00"),
    _("12:00 to 24:00"),
    _("Monday"),
    _("Tuesday"),
    _("Wednesday"),
    _("Thursday"),
    _("Friday"),
    _("Saturday"),
    _("Sunday"),
    _("Monday to Friday"),
    _("Saturday and Sunday"),
)
"""Titles of layers of maps by time."""

TERMS = (
    # What the figures of a page name.
    _("person"),
    _("record"),
    _("people"),
    _("visits"),
    # Kinds of release, one and many.
    _("Map"),
    _("Heatmap"),
    _("Heatmaps"),
    _("Counts of zones"),
    _("Perturbed points"),
    _("Clusters"),
    _("Contours"),
    # Mechanisms that are not called by a name of their own.
    _("Automatic"),
    _("Uniform grid"),
    _("Adaptive grid"),
    _("Quadtree"),
    _("Heatmap by time"),
    _("Sparse grid"),
    _("Private clusters"),
    _("Moved points"),
    # Layers.
    _("Areas of clusters"),
    _("Bands between contour lines"),
    _("Clusters within units"),
    _("Contour lines"),
    _("Counts above the threshold"),
    _("Counts of cells above the threshold"),
    _("Counts of cells"),
    _("Counts of partitions"),
    _("Density recovered from the points"),
    _("Estimates of cells"),
    _("Estimates of partitions"),
    _("Places drawn"),
    # Levels of places: those of cells, and of everything at once.
    _("District"),
    _("Quarter"),
    _("Everywhere"),
    # What privacy was spent on.
    _("cell counts"),
    _("cell counts of all slices"),
    _("counts of areas, shared out after the look"),
    _("counts of partitions"),
    _("counts of squares"),
    _("look: everybody"),
    _("partition counts"),
    _("places in the stead of people's own"),
    _("records around each centre"),
    _("records in each unit and cluster"),
    _("records of each person in each bin"),
    _("reports"),
    _("total count"),
    _("where to cut"),
    _("zone counts"),
    # How it is chosen what of a person is kept.
    _("at random"),
    _(
        "those in the most popular places first, by noisy counts of all places that a tenth of "
        "epsilon paid for"
    ),
    # The times of reports.
    _("day"),
    _("hour"),
    _("exact"),
    # Ramps.
    _("Tide"),
    _("Ember"),
    _("Grey"),
    # Files to take away.
    _("columns, for notebooks and QGIS"),
    _("shapes, for web maps"),
    _("one file, for desktop GIS"),
    _("one row a feature, for spreadsheets"),
    _("vector tiles, for web maps"),
    _("an image of estimate and margin, for raster tools"),
    _("a picture with its legend"),
    # The promise.
    _(
        "Whether you were in the data changes the odds of anything published from it by at most a "
        "factor {odds}."
    ),
    _(
        "Whether any one record was in the data changes the odds of anything published from it by "
        "at most a factor {odds}."
    ),
    _(
        "Had all your reports been made up to {radius} m elsewhere, the odds of anything published "
        "from these data would change by at most a factor {moved}. Points show that reports were "
        "made, and how many; the maps of counts alone also hide whether you were in the data, up "
        "to a factor {odds}."
    ),
    _(
        "Had any one report been made up to {radius} m elsewhere, the odds of anything published "
        "from these data would change by at most a factor {moved}. Points show that reports were "
        "made, and how many; the maps of counts alone also hide whether any one record was in the "
        "data, up to a factor {odds}."
    ),
)
"""What other rooms call things in English, and templates translate by variable."""

"""Promises to the people in the data: how often a guess about them can be right.

All pages, statements and API responses use these sentences. `core.guessing` computes the figures
and proves them. The sentences answer the following questions:

- Counts: is one privacy unit in the data? The guesser may know all other units. The first figure
  is for the map's own epsilon, the second for the dataset's lifetime total E. Moved points are
  never included in these figures, because they reveal presence; a sentence says so.
- Moved points: did the reports of a privacy unit come from one set of places, or from places up to
  r metres away? The distance is between the positions as reported; snapping may move them further
  apart (`snapped_apart`). For all points and counts together, a change of places removes the old
  reports from the counts and adds the new ones, which costs E each. So the log-odds change by at
  most 2 E plus the total level of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import ZCDP, PureDP, Unit, protected_at
from dpgeo.core.guessing import CERTAIN, Verdict, judge_guesses, right_guesses
from dpgeo.core.levels import level_phrase
from dpgeo.core.nouns import REPORT, ROW, choose_noun
from dpgeo.core.zcdp import delta_text
from dpgeo.phrases import Figure, Phrase, translatable
from dpgeo.spatial.ground_grid import snapped_apart

PROTECTION = {
    Verdict.STRONG: translatable("Strong protection"),
    Verdict.MODERATE: translatable("Moderate protection"),
    Verdict.WEAK: translatable("Weak protection"),
}

WORD = {
    Verdict.STRONG: translatable("strong"),
    Verdict.MODERATE: translatable("moderate"),
    Verdict.WEAK: translatable("weak"),
}

OF_PERSON = translatable("{protection}.")
OF_ROW = translatable("{protection} for each {row}, not for each person.")
OF_TRIP = translatable("{protection} for each {row}, not for each traveller.")
OF_PLACE = translatable("{protection} of where you were.")
OF_PLACE_OF_ROW = translatable("{protection} of where each {row} was made, not of where you were.")

THIS_MAP = translatable("from this map")
ALL_MAPS = translatable("from all maps of these data together")
ALL_COUNTS = translatable("from all maps of counts from these data together")

IN_PERSON = translatable(
    "Suppose someone knows the data of everyone else and has to guess: are you in these data, too? "
    "{ending}"
)
IN_ROW = translatable(
    "Suppose someone knows all other {rows} in these data, your own included, and has to guess "
    "about one more of yours: is it in there, too? {ending}"
)
MANY_ROWS = translatable("Someone with many {rows} in the data is protected less.")

PLACE = translatable(
    "Suppose someone has to guess: did you make your {row} here or {radius} m away? {ending}"
)
ALL_PLACES = translatable(
    "Suppose someone has to guess: did you make all of your {rows} here or {radius} m away? "
    "{ending}"
)
ONE_PLACE = translatable(
    "Suppose someone has to guess about one {row}: was it made here or {radius} m away? {ending}"
)
MADE = translatable("That a {row} was made is not hidden, nor how many there are.")

GUESS = translatable(
    "A coin toss gets it right 50 times in 100; a guess {source}, at most {times} times."
)
GUESS_CERTAIN = translatable(
    "A coin toss gets it right 50 times in 100; a guess {source}, in the worst case almost always."
)

TOGETHER = translatable(
    "All maps from these data together: {verdict}; a guess is right at most {times} times in 100."
)
TOGETHER_CERTAIN = translatable(
    "All maps from these data together: {verdict}; in the worst case almost certain."
)
COUNTS = translatable(
    "All maps of counts from these data together: {verdict}; a guess is right at most {times} "
    "times in 100."
)
COUNTS_CERTAIN = translatable(
    "All maps of counts from these data together: {verdict}; in the worst case almost certain."
)
PLACES = translatable(
    "Where you were, from all maps and points of these data together: {verdict}; a guess is right "
    "at most {times} times in 100."
)
PLACES_CERTAIN = translatable(
    "Where you were, from all maps and points of these data together: {verdict}; in the worst case "
    "almost certain."
)
ROW_PLACES = translatable(
    "Where one {row} was made, from all maps and points of these data together: {bound}. Someone "
    "with many {rows} in the data is protected less."
)
POINTS_SHOW = translatable("Moved points from these data show that {rows} were made.")

SMALL_PERSON = translatable("Epsilon {used} per person for this map, {total} for all.")
SMALL_ROW = translatable("Epsilon {used} per {row} for this map, {total} for all.")
SMALL_DELTA_PERSON = translatable(
    "Epsilon {used} per person for this map; for all maps together, epsilon {total} at delta "
    "{delta}. Maps add up in rho, not in epsilon."
)
SMALL_DELTA_ROW = translatable(
    "Epsilon {used} per {row} for this map; for all maps together, epsilon {total} at delta "
    "{delta}. Maps add up in rho, not in epsilon."
)
SMALL_RHO_PERSON = translatable(
    "Rho {rho} per person for this map, which is epsilon {used} at delta {delta}; for all maps "
    "together, epsilon {total} at that delta. The rhos of maps add up, their epsilons do not."
)
SMALL_RHO_ROW = translatable(
    "Rho {rho} per {row} for this map, which is epsilon {used} at delta {delta}; for all maps "
    "together, epsilon {total} at that delta. The rhos of maps add up, their epsilons do not."
)
SMALL_POINTS = translatable(
    "For this map: {used}; for all points: {points}; for all counts: epsilon {total}."
)

AT_MOST = translatable("at most {times} times in 100")
AT_WORST = translatable("in the worst case almost certain")
WHERE = translatable(
    "Where you were is easier to guess than whether you are in these data: {bound}, as with twice "
    "the epsilon."
)
GROUP = translatable(
    "Whether a family of {many} is in these data, all of them or none, is easier to guess: "
    "{bound}, as with {many} times the epsilon."
)
WHERE_RHO = translatable(
    "Where you were is easier to guess than whether you are in these data: {bound}, as with four "
    "times the rho."
)
GROUP_RHO = translatable(
    "Whether a family of {many} is in these data, all of them or none, is easier to guess: "
    "{bound}, as with {times} times the rho."
)
ROWS_RHO = translatable(
    "Whether {many} {rows} of one person are in these data, all of them or none, is easier to "
    "guess: {bound}, as with {times} times the rho."
)
ROWS = translatable(
    "Whether {many} {rows} of one person are in these data, all of them or none, is easier to "
    "guess: {bound}, as with {many} times the epsilon."
)

HOUSEHOLD = translatable(
    "A household of up to {people} people who travel together is protected as one person would be "
    "at {epsilon}: whether all of them are in these data or none is guessed right {bound}."
)
HOUSEHOLD_CERTAIN = translatable(
    "A household of up to {people} people who travel together is protected as one person would be "
    "at {epsilon}: whether all of them are in these data or none is, in the worst case, almost "
    "certain."
)
AT_EPSILON = translatable("epsilon {epsilon}")
AT_EPSILON_AND_DELTA = translatable("epsilon {epsilon} and delta {delta}")
HOUSEHOLD_TOGETHER = translatable(
    "Whether such a household is in these data, all of them or none, is easier to guess from all "
    "maps together: {bound}, because each map spends on every person of it."
)

Presence = PureDP | ZCDP
"""Guarantees that limit guesses about somebody's presence."""

FAMILY = 4
"""Number of people, or of one person's rows, used in the sentence about groups."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound on how many of 100 guesses can be right."""

    right: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on this bound, such as "strong"."""
        return judge_guesses(self.right)

    @property
    def figure(self) -> int | None:
        """The largest number of right guesses in 100, or None if a guess can be almost certain."""
        return self.right if self.right < CERTAIN else None

    def line(self, template: str, certain: str) -> Phrase:
        """Return `template`, filled in with the verdict and the largest number of right guesses in
        100.

        If a guess can be almost certain, return `certain` instead, filled in with the verdict.
        """
        verdict = Phrase(WORD[self.verdict])
        if self.figure is None:
            return Phrase(certain, verdict=verdict)
        return Phrase(template, verdict=verdict, times=self.figure)

    @property
    def words(self) -> Phrase:
        """The bound as a phrase, such as "at most 63 times in 100"."""
        return Phrase(AT_WORST) if self.figure is None else Phrase(AT_MOST, times=self.figure)

    def guess(self, source: str) -> Phrase:
        """Return the sentence that compares how often a guess is right with tossing a coin.

        `source` is the phrase that names the maps on which the guess is based.
        """
        maps = Phrase(source)
        if self.figure is None:
            return Phrase(GUESS_CERTAIN, source=maps)
        return Phrase(GUESS, source=maps, times=self.figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Promise about what can be guessed about somebody from one map or from all maps.

    `lead` is the sentence with the verdict, `body` says what is guessed and how often the guess is
    right, and `after` are sentences on what the promise does not cover.
    """

    bound: Bound
    lead: Phrase
    body: Phrase
    after: tuple[Phrase, ...] = ()

    @property
    def sentence(self) -> str:
        """The whole promise as English text."""
        return " ".join(map(str, (self.lead, self.body, *self.after)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsTotal:
    """The lifetime budget for moved points.

    `pico` is the epsilon per metre, in units of 10^-12, and `radius` the distance in metres for
    which the level is stated. Positions are snapped to grids of at most `input_step` millimetres.
    """

    pico: int
    radius: int
    input_step: int

    @property
    def loss(self) -> Fraction:
        """The largest change of the log-odds between two positions that are `radius` metres apart
        before they are snapped.
        """
        return Fraction(self.pico, 10**12) * snapped_apart(self.radius, self.input_step)

    @property
    def words(self) -> Phrase:
        """The level as a phrase, such as "level ln 16 within 200 m"."""
        return level_phrase(self.pico, self.radius)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """The most that may ever be spent on the people in a dataset, for counts and for points.

    `points` is None if there is no budget for points. `noun` is the owner's noun for rows, or "" if
    none was chosen. If the budget counts in rho, `total` is the epsilon of the total rho at
    `delta`; otherwise `delta` is 0.
    """

    unit: Unit
    total: Fraction
    points: PointsTotal | None = None
    noun: str = ""
    delta: Fraction = Fraction(0)

    @property
    def counts(self) -> Bound:
        """The bound on guesses about presence, for somebody who sees all counts that the budget
        allows.
        """
        return bound_of(self.total, self.delta)

    @property
    def places(self) -> Bound | None:
        """The bound on guesses about where somebody was, for somebody who sees all counts and
        points.

        None without a points budget.
        """
        return bound_of(2 * self.total + self.points.loss) if self.points else None

    @property
    def lines(self) -> tuple[Phrase, ...]:
        """The lines shown with a map of counts.

        The first states the bound for all maps of counts. If there is a budget for points, a second
        line says what maps of points show.
        """
        if self.points is None:
            return (self.counts.line(TOGETHER, TOGETHER_CERTAIN),)
        made = Phrase(POINTS_SHOW, rows=Phrase(choose_noun(self.noun, REPORT).many))
        return self.counts.line(COUNTS, COUNTS_CERTAIN), made

    @property
    def lines_of_points(self) -> tuple[Phrase, ...]:
        """The sentence on what counts and moved points together may reveal.

        It is in a tuple, which is empty if the dataset has no budget for moved points.
        """
        if not self.places:
            return ()
        if self.unit is Unit.PERSON:
            return (self.places.line(PLACES, PLACES_CERTAIN),)
        named = choose_noun(self.noun, REPORT)
        words = {"row": Phrase(named.one), "rows": Phrase(named.many)}
        return (Phrase(ROW_PLACES, bound=self.places.words, **words),)

    @property
    def promise(self) -> Promise:
        """The promise about presence, given all maps of counts together."""
        source = ALL_MAPS if self.points is None else ALL_COUNTS
        return of_counts(self.total, self.unit, self.noun, source, self.delta)

    @property
    def sentence(self) -> str:
        """The promise for the whole dataset, including points, as English text."""
        beside = (*self.lines[1:], *self.lines_of_points)
        return " ".join([self.promise.sentence, *map(str, beside)])

    def small(self, cost: Presence) -> Phrase:
        """Return the small print that explains the epsilons of a map of counts."""
        used, total = Figure(format_epsilon(cost.epsilon)), Figure(format_epsilon(self.total))
        words: dict[str, Figure | Phrase | str]
        if isinstance(cost, ZCDP):
            words = {
                "rho": Figure(format_epsilon(cost.rho)),
                "used": used,
                "delta": delta_text(cost.delta),
                "total": total,
            }
            if self.unit is Unit.PERSON:
                return Phrase(SMALL_RHO_PERSON, **words)
            return Phrase(SMALL_RHO_ROW, row=Phrase(choose_noun(self.noun, ROW).one), **words)
        words = {"used": used, "total": total}
        if self.delta:
            words["delta"] = delta_text(self.delta)
        if self.unit is Unit.PERSON:
            return Phrase(SMALL_DELTA_PERSON if self.delta else SMALL_PERSON, **words)
        words["row"] = Phrase(choose_noun(self.noun, ROW).one)
        return Phrase(SMALL_DELTA_ROW if self.delta else SMALL_ROW, **words)

    def small_of_points(self, used: Phrase) -> Phrase:
        """Return the small print of a map of moved points.

        It gives the map's level (`used`, as a phrase), the total level that all maps of points may
        use, and the total epsilon for all counts.
        """
        total = Figure(format_epsilon(self.total))
        points = self.points.words if self.points else used
        return Phrase(SMALL_POINTS, used=used, points=points, total=total)


def bound_of(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Bound:
    """Return the bound on guesses between two cases.

    In either case, every set of outcomes must have at most e^epsilon times the probability that it
    has in the other case, plus delta. For a delta of 0, the log-odds of every outcome differ by at
    most epsilon.
    """
    return Bound(right_guesses(epsilon, delta))


def of_counts(
    epsilon: Fraction,
    unit: Unit,
    noun: str = "",
    source: str = THIS_MAP,
    delta: Fraction = Fraction(0),
) -> Promise:
    """Return the promise about somebody's presence, for counts with this epsilon at this delta.

    `source` is the phrase that names the maps covered by the promise. `noun` is the owner's noun
    for rows, or "".
    """
    bound = bound_of(epsilon, delta)
    protection, ending = Phrase(PROTECTION[bound.verdict]), bound.guess(source)
    if unit is Unit.PERSON:
        body = Phrase(IN_PERSON, ending=ending)
        return Promise(bound=bound, lead=Phrase(OF_PERSON, protection=protection), body=body)
    named = choose_noun(noun, ROW)
    row, rows = Phrase(named.one), Phrase(named.many)
    return Promise(
        bound=bound,
        lead=Phrase(OF_TRIP if named.travel else OF_ROW, protection=protection, row=row, rows=rows),
        body=Phrase(IN_ROW, rows=rows, ending=ending),
        after=(Phrase(MANY_ROWS, rows=rows),),
    )


def of_household(cost: Presence, people: int) -> tuple[Phrase, ...]:
    """Return the sentence on a household of up to `people` persons, each with the guarantee `cost`.

    It is empty for one person. The contributions of each person in it are bounded separately, so
    their losses add up as in any group (`of_changes`), whatever is known about their ties.
    """
    if people == 1:
        return ()
    epsilon, delta = protected_at(cost, people)
    bound, figure = bound_of(epsilon, delta), Figure(format_epsilon(epsilon))
    level = (
        Phrase(AT_EPSILON_AND_DELTA, epsilon=figure, delta=delta_text(delta))
        if delta
        else Phrase(AT_EPSILON, epsilon=figure)
    )
    if bound.figure is None:
        return (Phrase(HOUSEHOLD_CERTAIN, people=people, epsilon=level),)
    return (Phrase(HOUSEHOLD, people=people, epsilon=level, bound=bound.words),)


def of_one_map(cost: Presence, noun: str = "", household: int = 1) -> Promise:
    """Return the promise of one map of counts.

    For a `household` of several people, it ends with a sentence on them. `noun` is the owner's noun
    for rows, or "".
    """
    delta = cost.delta if isinstance(cost, ZCDP) else Fraction(0)
    promise = of_counts(cost.epsilon, cost.unit, noun, delta=delta)
    return replace(promise, after=(*promise.after, *of_household(cost, household)))


def of_points(
    loss: Fraction, radius: int, reports: int, noun: str = "", unit: Unit = Unit.PERSON
) -> Promise:
    """Return the promise about where somebody was, for moved points.

    `loss` is the largest change of the log-odds if all `reports` reports of a privacy unit had been
    made up to `radius` metres away. If the privacy unit is a record, the promise is about one
    report, and says that somebody with many reports is protected less. `noun` is the owner's noun
    for rows, or "".
    """
    bound = bound_of(loss)
    metres, named = Figure(f"{radius:,}"), choose_noun(noun, REPORT)
    row, rows = Phrase(named.one), Phrase(named.many)
    protection, protections = Phrase(PROTECTION[bound.verdict]), Phrase(MADE, row=row, rows=rows)
    if unit is Unit.PERSON:
        lead = Phrase(OF_PLACE, protection=protection)
        after: tuple[Phrase, ...] = (protections,)
        guess = PLACE if reports == 1 else ALL_PLACES
    else:
        lead = Phrase(OF_PLACE_OF_ROW, protection=protection, row=row)
        after = (Phrase(MANY_ROWS, rows=rows), protections)
        guess = ONE_PLACE
    body = Phrase(guess, radius=metres, row=row, rows=rows, ending=bound.guess(THIS_MAP))
    return Promise(bound=bound, lead=lead, body=body, after=after)


def in_places_and_groups(
    cost: Presence, noun: str = "", household: int = 1, total: Presence | None = None
) -> Sequence[Phrase]:
    """Return sentences on cases in which the loss is several times that of one privacy unit.

    If the privacy unit is a person, these cases are that somebody was in one place rather than in
    another, and that a group of people is in the data; if it is a record, that several rows of one
    person are. `noun` is the owner's noun for rows, or "". If households are protected, the group
    is a household of `household` people. The sentence on it is then about all maps together, which
    have the guarantee `total` for each person; `of_household` returns the one on a single map.
    """
    moved, group = (bound_of(*cost.of_changes(number)).words for number in (2, FAMILY))
    in_rho = isinstance(cost, ZCDP)
    words: dict[str, int | Phrase] = {"many": FAMILY, "bound": group}
    if in_rho:
        words["times"] = FAMILY**2
    if cost.unit is Unit.PERSON:
        where = Phrase(WHERE_RHO if in_rho else WHERE, bound=moved)
        if household > 1 and total is not None:
            together = bound_of(*total.of_changes(household)).words
            return where, Phrase(HOUSEHOLD_TOGETHER, bound=together)
        return where, Phrase(GROUP_RHO if in_rho else GROUP, **words)
    rows = Phrase(choose_noun(noun, ROW).many)
    return (Phrase(ROWS_RHO if in_rho else ROWS, rows=rows, **words),)

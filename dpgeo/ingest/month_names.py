"""Names and usual abbreviations of the months in the common European languages."""

from __future__ import annotations

from collections import defaultdict

NAMES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
jänner feber maerz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
ledna února března dubna května června července srpna září října listopadu prosince
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
január február március április május június július augusztus szeptember október november december
"""
MIN_LENGTH = 3


def _spellings() -> dict[str, int]:
    """Return the month for every beginning of a month's name that stands for one month only."""
    months: dict[str, set[int]] = defaultdict(set)
    for line in NAMES.strip().splitlines():
        for number, name in enumerate(line.split(), start=1):
            for length in range(MIN_LENGTH, len(name) + 1):
                months[name[:length]].add(number)
    return {name: min(numbers) for name, numbers in months.items() if len(numbers) == 1} | {
        "sept": 9,
        "mrz": 3,
        "mär": 3,
    }


MONTHS = _spellings()
"""Number of the month by its name or abbreviation in lower case."""

"""Template filters for texts and for budgets of moved points on the desk, where owners work."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext

from dpgeo.accounts.mail import sends_mail
from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.models import Role as AccountRole
from dpgeo.accounts.selectors import may_see_events, visible_organisations
from dpgeo.budgets.models import Ledger
from dpgeo.datasets.models import Dataset
from dpgeo.ingest.schema import Role
from dpgeo.pages.cards import release_card
from dpgeo.pages.desk.columns_form import ColumnsForm
from dpgeo.pages.desk.figures import dataset_budget
from dpgeo.pages.rendering import option_rows, say
from dpgeo.pages.templatetags.figures import in_language, ledger_words

register = template.Library()


register.filter(say)
register.filter("options", option_rows)
register.filter("card", release_card)
register.simple_tag(sends_mail, name="mail_is_sent")
register.filter("may_see_events", may_see_events)


@register.filter
def administers(user: User) -> bool:
    """Return whether a member administers an organisation that has datasets."""
    return (
        user.is_superuser
        or Dataset.objects.filter(
            organisation__memberships__user=user,
            organisation__memberships__role=AccountRole.ADMINISTRATOR,
        ).exists()
    )


@register.filter
def needs_two(user: User) -> bool:
    """Return whether one of a member's organisations requires two persons for its decisions."""
    return visible_organisations(user).filter(two_persons=True).exists()


@register.filter
def manages_members(user: User) -> bool:
    """Return whether a user administers an organisation, with or without datasets."""
    return user.is_superuser or user.memberships.filter(role=AccountRole.ADMINISTRATOR).exists()


@register.filter
def role_word(label: object) -> str:
    """Return a member's role in the page's language: its label without the explanation."""
    return gettext(str(label)).partition(":")[0]


@register.filter
def organisation_in(pk: int | None, organisations: Mapping[int, Organisation]) -> str:
    """Return the name of the organisation with a primary key; "" for None or if it was deleted."""
    return str(organisations.get(pk or 0, ""))


@register.filter
def column_word(name: str) -> str:
    """Return the readable name of a member of `ingest.schema.Columns`: the label of its field."""
    field = ColumnsForm.base_fields.get(name)
    role_is_word = name in set(Role) and "_" not in name
    if role_is_word or field is None or not field.label:
        return gettext(name)
    return str(field.label)


@register.filter
def spent_words(ledger: Ledger) -> str:
    """Format the amount spent from a ledger, as "epsilon 0.5" or "level ln 4 within 200 m"."""
    return ledger_words(ledger, ledger.spent_units)


@register.filter
def amount(ledger: Ledger, units: int) -> str:
    """Format units of any ledger, as "epsilon 0.5" or "level ln 4 within 200 m"."""
    return ledger_words(ledger, units)


@register.filter
def points_left(ledger: Ledger) -> str:
    """Format the level left in a budget for points, as in "ln 4"."""
    return in_language(ledger.left_words)


@register.filter
def points_more(ledger: Ledger, dataset: Dataset) -> str:
    """Return a phrase that says how many more releases a budget for moved points allows."""
    return dataset_budget(dataset, ledger).more_words


@register.filter
def points_total(ledger: Ledger) -> str:
    """Format the total of a budget for moved points, as in "level ln 16 within 200 m"."""
    return ledger_words(ledger, ledger.lifetime_units)

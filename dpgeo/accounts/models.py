"""Organisations, and the role a person has in one."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person who signs in."""


class Organisation(models.Model):
    """A publisher: the body whose name stands on a map."""

    name = models.CharField(max_length=200, unique=True)
    slug = models.SlugField(unique=True)
    contact = models.EmailField(blank=True, help_text="Where citizens can write. Public.")
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="organisations"
    )

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do; each role includes those before it."""

    STEWARD = "steward", "Steward: declares datasets, uploads, requests releases"
    APPROVER = "approver", "Approver: also publishes and withdraws"
    ADMINISTRATOR = "administrator", "Administrator: also sets budgets and members"


class Membership(models.Model):
    """One person's role in one organisation."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="memberships"
    )
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.STEWARD)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "user"], name="membership_once_per_organisation"
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.organisation}"

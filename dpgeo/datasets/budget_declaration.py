"""The declaration of lifetime budgets, which the API and the desk's form state alike."""

from __future__ import annotations

from typing import Annotated

from dpgeo.core.declared import Declared, Epsilon, Labels, Text, Whole, fact
from dpgeo.core.guarantees import Notion
from dpgeo.phrases import translatable


class BudgetDeclaration(Declared):
    """What may ever be spent on counts of a dataset's people, and in which currency."""

    budget: Epsilon = fact(
        translatable("The most epsilon that all releases together may ever spend."),
        None,
        title=translatable("Total budget, epsilon (ε)"),
    )
    accounting: Annotated[
        Text,
        Labels(
            {
                Notion.PURE_DP: translatable("Epsilon alone (pure differential privacy)"),
                Notion.ZCDP: translatable("Rho (zCDP, Gaussian noise)"),
            }
        ),
    ] = fact(
        translatable(
            "Rho pays where one person is in many counts: from about 17 places a person in one "
            "map, or in many maps of the same people, since rhos add up to a smaller epsilon than "
            "epsilons do. With few places a person and few maps, epsilon alone blurs less. It "
            "cannot be changed once the first file is confirmed."
        ),
        None,
        title=translatable("Currency of the budget"),
    )
    delta: Text = fact(
        translatable(
            "The budget is then the epsilon of all rho together, at this delta: 1e-9 if it "
            "is empty. A smaller delta promises more and blurs more."
        ),
        None,
        title=translatable("Delta (δ), for rho"),
    )
    population: Whole = fact(
        translatable(
            "How many people live where the data were collected, by public sources, not by the "
            "data. Delta is at most a tenth of one over it."
        ),
        None,
        title=translatable("Population, for rho"),
    )

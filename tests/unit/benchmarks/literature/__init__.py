"""Tests of the published mechanisms that dpgeo is compared with."""

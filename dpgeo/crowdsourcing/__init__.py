"""Django app for task campaigns, planned on public releases only.

It never reads private data.
"""

"""Django app for task campaigns, which are planned on public releases only.

It never reads private data.
"""

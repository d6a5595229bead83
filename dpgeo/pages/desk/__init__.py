"""Data owner's desk: pages for members to declare, upload, request and publish.

Views parse the input, call a service and show its result; services decide what is allowed and what
it costs. For anyone but the dataset's members, these pages do not exist.
"""

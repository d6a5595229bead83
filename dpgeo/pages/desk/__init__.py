"""The data owner's desk: members of an organisation declare, upload, request and publish here.

Views read what was typed, call a service and show its answer; what is allowed and what it costs
is decided elsewhere. To everybody but the dataset's members these pages do not exist.
"""

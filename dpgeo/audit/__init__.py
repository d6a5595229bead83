"""Django app of the audit list: security events and privileged acts."""

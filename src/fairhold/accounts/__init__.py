"""Staff who sign in: members of an org, their passwords, and their sessions."""

"""`fairhold demo`: the service on a database that is thrown away, with five pools that have lived."""

"""Mathematics and checks that every part of firstlight may use; nothing here knows a theory."""

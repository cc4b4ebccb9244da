"""The laboratory in a browser: `firstlight explore`. It knows no theory; each brings its page."""

"""The four theories. They import no network and no measure, so that agreement is evidence."""

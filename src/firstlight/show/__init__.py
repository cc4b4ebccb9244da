"""What people look at: the figure style, figures of studies, and the report."""

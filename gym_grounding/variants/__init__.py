"""The registry's builder: proposes sentences, checks them, measures their goals, writes the file."""

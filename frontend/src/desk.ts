// The owner's desk.
import "./styles/desk.css";
